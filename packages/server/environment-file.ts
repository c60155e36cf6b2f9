import { StartFailure } from './platform/start-failure.ts';

const option = '--env-file';
/** Node.js reads it when the process begins, before any file of settings. */
const certificates = 'NODE_EXTRA_CA_CERTS';

/** Settings of a file, named after `--env-file`. What the environment says already goes before it. */
export function loadEnvironmentFile(argv: readonly string[]): void {
  const index = argv.indexOf(option);
  if (index < 0) return;
  const path = argv[index + 1];
  if (path === undefined) throw new StartFailure(`${option} needs the name of a file.`);
  const before = process.env[certificates];
  try {
    process.loadEnvFile(path);
  } catch (error) {
    throw new StartFailure(`The file ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  if (process.env[certificates] !== before)
    throw new StartFailure(
      `${certificates} has no effect in ${path}: set it in the environment of the process, and take it out of the file.`,
    );
}
