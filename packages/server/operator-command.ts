import { type Config, loadConfig } from './config.ts';
import { loadEnvironmentFile } from './environment-file.ts';
import { describeStartFailure } from './start-failure.ts';

/** Runs a command beside the service. What fails is told as at a start, and the process ends with 1. */
export async function runOperatorCommand(work: (config: Config) => Promise<void>): Promise<void> {
  let config: Config | undefined;
  try {
    loadEnvironmentFile(process.argv);
    config = loadConfig({ LOG_LEVEL: 'warn', ...process.env });
    await work(config);
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error, config)}\n`);
    process.exitCode = 1;
  }
}
