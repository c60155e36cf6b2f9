import { tuneCollector } from '@holdfast/engine';
import { dashboardFolder, ensureDashboard } from '@holdfast/web/build';
import { type App, startApp } from './app.ts';
import type { Config } from './config.ts';
import { configOfCalls, configOfJobs, hasJobProcess, JobProcess } from './job-process.ts';
import type { EmbeddedPostgres } from './platform/database/embedded-postgres.ts';
import { secondMs } from './platform/durations.ts';
import type { Logger } from './platform/log.ts';
import { endInTime, endOnUnexpected } from './process-end.ts';

/** Started before all of this was loaded, because neither has to wait for the other. */
export interface Begun {
  readonly ending: Promise<NodeJS.Signals>;
  readonly log: Logger;
  readonly embeddedDatabase: Promise<EmbeddedPostgres> | undefined;
}

/** Runs until it is told to end. */
export async function runService(config: Config, { ending, log, embeddedDatabase }: Begun): Promise<void> {
  const collector = tuneCollector();
  const jobProcess = hasJobProcess(config)
    ? new JobProcess({ log, graceMs: config.SHUTDOWN_GRACE_SECONDS * secondMs })
    : undefined;
  const app = await startApp(jobProcess ? configOfCalls(config) : config, {
    log,
    embeddedDatabase,
    dashboardFolder: await builtDashboard(config),
    jobProcess,
  });
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
  const databaseUrl = config.DATABASE_URL ?? (await embeddedDatabase)?.url;
  jobProcess?.start(configOfJobs(config, { databaseUrl, baseUrl: app.platform.baseUrl() }), app.openSample);
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

/** Built at the first start, and again when its sources are newer. The service also works without it. */
async function builtDashboard(config: Config): Promise<string> {
  if (config.HOLDFAST_ROLES.includes('api')) {
    await ensureDashboard((line) => process.stdout.write(`${line}\n`)).catch((error: unknown) =>
      process.stderr.write(`The dashboard was not built: ${error instanceof Error ? error.message : String(error)}\n`),
    );
  }
  return dashboardFolder;
}
