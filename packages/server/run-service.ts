import { type Config, describeConfig, loadConfig, remarksOn } from './config.ts';
import { startEmbeddedDatabase, stopEmbeddedDatabase } from './embedded-database.ts';
import { UsageMistake } from './platform/command-options.ts';
import { endOnSignal } from './platform/end-on-signal.ts';
import { createProcessLogger } from './platform/log.ts';
import { lowerProcessPriority } from './platform/process-priority.ts';
import { StartFailure } from './platform/start-failure.ts';
import { describeStartFailure } from './start-failure.ts';
import { readStartOptions, type StartOptions, usage } from './start-options.ts';

/** Starts the service, or with `--print-config` shows how it would start. */
async function main(config: Config, { printConfig, requireDatabase }: StartOptions): Promise<void> {
  await requireGeoIpFile(config);
  if (printConfig) {
    process.stdout.write(`${describeConfig(config)}\n`);
    for (const remark of remarksOn(config)) process.stderr.write(`\n${remark}\n`);
    return;
  }
  if (requireDatabase && !config.DATABASE_URL)
    throw new StartFailure('DATABASE_URL: is needed. There is no embedded PostgreSQL here.');
  if (!config.HOLDFAST_ROLES.includes('api')) lowerProcessPriority();
  const ending = endOnSignal();
  const log = createProcessLogger(config);
  const embeddedDatabase = startEmbeddedDatabase(config, log);
  try {
    // Loaded while the database starts: both take about the same time.
    const { runService } = await import('./service.ts');
    await runService(config, { ending, log, embeddedDatabase });
  } catch (error) {
    await stopEmbeddedDatabase(embeddedDatabase);
    throw error;
  }
}

/** Checked before anything is started: an unreadable file is reported in a sentence, here and by `--print-config`. */
async function requireGeoIpFile({ GEOIP_FILE }: Config): Promise<void> {
  if (GEOIP_FILE === undefined) return;
  const { createLocator } = await import('./modules/audit/index.ts');
  createLocator(GEOIP_FILE);
}

let config: Config | undefined;
try {
  const options = readStartOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(usage);
  else {
    config = loadConfig(process.env);
    await main(config, options);
  }
} catch (error) {
  process.stderr.write(`${describeStartFailure(error, config)}\n`);
  process.exitCode = error instanceof UsageMistake ? 2 : 1;
}
