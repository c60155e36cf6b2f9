import { type Config, loadConfig } from './config.ts';
import { loadEnvironmentFile } from './environment-file.ts';
import { requireInstallation } from './installation.ts';
import { readCommand } from './platform/command-options.ts';
import { describeStartFailure } from './start-failure.ts';
import { environmentFileOption } from './start-options.ts';

/**
 * Runs a command beside the service, unless an option is misspelt. Failures are reported as at a start, and the process
 * ends with 1.
 */
export async function runOperatorCommand(
  { name, about }: { name: string; about: string },
  work: (config: Config) => Promise<void>,
): Promise<void> {
  const options = { 'env-file': environmentFileOption };
  const { values } = readCommand({ usage: `npm run ${name} --`, about, options });
  let config: Config | undefined;
  try {
    loadEnvironmentFile(values['env-file']);
    config = loadConfig({ LOG_LEVEL: 'warn', ...process.env });
    await requireInstallation(config);
    await work(config);
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error, config)}\n`);
    process.exitCode = 1;
  }
}
