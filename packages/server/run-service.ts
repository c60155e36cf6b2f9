import { tuneCollector } from '@holdfast/engine';
import { dashboardFolder, ensureDashboard } from '@holdfast/web/build';
import { type App, startApp } from './app.ts';
import { type Config, describeConfig, loadConfig, remarksOn } from './config.ts';
import { createLocator } from './modules/audit/index.ts';
import { UsageMistake } from './platform/command-options.ts';
import { endOnSignal } from './platform/end-on-signal.ts';
import { StartFailure } from './platform/start-failure.ts';
import { describeStartFailure } from './start-failure.ts';
import { readStartOptions, type StartOptions, usage } from './start-options.ts';

/** For what is left to close when the jobs have had their grace. */
const closingMs = 10_000;

/** Starts the service, or with `--print-config` shows how it would start. */
async function main(config: Config, { printConfig, requireDatabase }: StartOptions): Promise<void> {
  // Before anything is started: a file that cannot be read is told in a sentence, here and by `--print-config`.
  createLocator(config.GEOIP_FILE);
  if (printConfig) {
    process.stdout.write(`${describeConfig(config)}\n`);
    for (const remark of remarksOn(config)) process.stderr.write(`\n${remark}\n`);
    return;
  }
  if (requireDatabase && !config.DATABASE_URL)
    throw new StartFailure('DATABASE_URL: is needed. There is no embedded PostgreSQL here.');
  const collector = tuneCollector();
  const ending = endOnSignal();
  const app = await startApp(config, { dashboardFolder: await builtDashboard(config) });
  app.platform.log.info({ collector }, 'how memory is collected');
  if (config.HOLDFAST_ROLES.includes('api')) await requireProvider(app);
  endOnUnexpected(app);
  ending.then(() => app.close()).then(() => process.exit(0));
  // Where people go is where the API is; the others tell their health where they are.
  const roles = config.HOLDFAST_ROLES;
  const where = roles.includes('api') ? app.platform.baseUrl() : `${app.address} as ${roles.join(' and ')}`;
  process.stdout.write(`Holdfast is running at ${where}\n`);
  if (app.signInLink) process.stdout.write(`Sign in: ${app.signInLink}\n`);
}

async function requireProvider(app: App): Promise<void> {
  try {
    await app.requireProvider();
  } catch (error) {
    await app.close();
    throw error;
  }
}

/**
 * What nobody caught has left something half done that nobody knows of, so the process does not go on with it: it says
 * so, finishes what it can and ends with 1. Whoever runs it starts it again, and the jobs are taken up from the queue.
 * A rejection that nobody handles arrives here too.
 */
function endOnUnexpected(app: App): void {
  let isEnding = false;
  process.on('uncaughtException', (error, origin) => {
    app.platform.log.fatal(
      { err: error, origin },
      'something failed that nobody caught; the service ends to be restarted',
    );
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), app.platform.config.SHUTDOWN_GRACE_SECONDS * 1000 + closingMs).unref();
    app.close().finally(() => process.exit(1));
  });
}

/** Built on first start, and again when its sources are newer. A service without it is still a service. */
async function builtDashboard(config: Config): Promise<string> {
  if (config.HOLDFAST_ROLES.includes('api')) {
    await ensureDashboard((line) => process.stdout.write(`${line}\n`)).catch((error: unknown) =>
      process.stderr.write(`The dashboard was not built: ${error instanceof Error ? error.message : String(error)}\n`),
    );
  }
  return dashboardFolder;
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
