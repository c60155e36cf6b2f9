import { tuneCollector } from '@holdfast/engine';
import { dashboardFolder, ensureDashboard } from '@holdfast/web/build';
import { type App, startApp } from './app.ts';
import type { Config } from './config.ts';
import type { EmbeddedPostgres } from './platform/database/embedded-postgres.ts';
import type { Logger } from './platform/log.ts';

/** For closing the rest after the jobs have had their grace period. */
const closingMs = 10_000;

/** Started before all of this was loaded, because neither has to wait for the other. */
export interface Begun {
  readonly ending: Promise<NodeJS.Signals>;
  readonly log: Logger;
  readonly embeddedDatabase: Promise<EmbeddedPostgres> | undefined;
}

/** Runs until it is told to end. */
export async function runService(config: Config, { ending, log, embeddedDatabase }: Begun): Promise<void> {
  const collector = tuneCollector();
  const app = await startApp(config, { log, embeddedDatabase, dashboardFolder: await builtDashboard(config) });
  app.platform.log.info({ collector }, 'how memory is collected');
  if (config.HOLDFAST_ROLES.includes('api')) await requireProvider(app);
  endOnUnexpected(app);
  // Orchestrators that replace processes send SIGTERM; a person at a terminal does not want to wait. With an embedded
  // database no other process can take over.
  const mayBeReplaced = config.DATABASE_URL !== undefined;
  ending
    .then((signal) => {
      endInTime(app);
      return app.close({ lingers: signal === 'SIGTERM' && mayBeReplaced });
    })
    .then(() => process.exit(0));
  // People are sent to the API; processes without it name their own address for health.
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
 * An uncaught error may have left something half done, so the process does not continue: it logs the error, finishes
 * what it can and ends with 1. The operator's supervisor restarts it, and its jobs are taken from the queue again.
 * Unhandled rejections end here too.
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
    endInTime(app);
    app.close().finally(() => process.exit(1));
  });
}

/**
 * A silent database does not answer the goodbye either. Jobs that were not handed back are taken over as from a dead
 * process.
 */
function endInTime({ platform: { config, log } }: App): void {
  const end = () => {
    log.error('the service could not close in time and ends as it is');
    process.exit(1);
  };
  setTimeout(end, config.SHUTDOWN_GRACE_SECONDS * 1000 + closingMs).unref();
}

/** Built at the first start, and again when its sources are newer. The service also works without it. */
async function builtDashboard(config: Config): Promise<string> {
  if (config.HOLDFAST_ROLES.includes('api')) {
    await ensureDashboard((line) => process.stdout.write(`${line}\n`)).catch((error: unknown) =>
      process.stderr.write(`The dashboard was not built: ${error instanceof Error ? error.message : String(error)}\n`),
    );
  }
  return dashboardFolder;
}
