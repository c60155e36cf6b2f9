import type { FastifyInstance } from 'fastify';
import type { Config } from './config.ts';
import { requireDataFolder } from './data-folder.ts';
import { startEmbeddedDatabase, stopEmbeddedDatabase } from './embedded-database.ts';
import { Metrics } from './http/metrics.ts';
import { createHttpServer } from './http/server.ts';
import { SilentConnections, Stopping } from './http/stopping.ts';
import { type StreamLimits, usualStreamLimits } from './http/streams.ts';
import { databaseFunctions, jobDefinitions } from './modules/declarations.ts';
import { composeModules, type NamedDatabase } from './modules/index.ts';
import { servePages } from './modules/system/pages.ts';
import { systemHandlers } from './modules/system/routes.ts';
import { Changes } from './platform/changes.ts';
import { type Clock, systemClock } from './platform/clock.ts';
import { CpuTurns } from './platform/cpu-turns.ts';
import { Cursors } from './platform/cursor.ts';
import { connectDatabase } from './platform/database/database.ts';
import type { EmbeddedPostgres } from './platform/database/embedded-postgres.ts';
import { prepareDatabase } from './platform/database/migrate.ts';
import { refuseSharedSessions } from './platform/database/shared-sessions.ts';
import { secondMs } from './platform/durations.ts';
import { createIds } from './platform/ids.ts';
import { Lifecycle } from './platform/lifecycle.ts';
import { createProcessLogger, type Logger } from './platform/log.ts';
import { createOutbound, type OutboundOptions } from './platform/outbound/outbound.ts';
import { Outbox } from './platform/outbox.ts';
import { lateTasks, type PeriodicTask, PeriodicTasks } from './platform/periodic.ts';
import type { Platform } from './platform/platform.ts';
import { prepareQueue, Queue, queueFingerprint } from './platform/queue.ts';
import { MemoryRateLimiter } from './platform/rate-limit.ts';
import { connectRedis, RedisRateLimiter } from './platform/redis.ts';
import { loadKeyring } from './platform/secrets/master-key.ts';
import type { MasterKeyring } from './platform/secrets/master-keyring.ts';
import { startTracing } from './platform/tracing.ts';
import { version } from './version.ts';

export { loadConfig } from './config.ts';

const usualHeadersMsMax = 20 * secondMs;

export interface AppOverrides {
  clock?: Clock;
  log?: Logger;
  /** The folder of the built dashboard; without it browsers get a plain start page. */
  dashboardFolder?: string;
  /**
   * The database server of the data folder, if it was started before the service was loaded; it ends with the service.
   */
  embeddedDatabase?: Promise<EmbeddedPostgres> | undefined;
  /** The process that does the jobs of this service; it ends before the databases. */
  jobProcess?: { stop(): Promise<void> } | undefined;
  /** Opens the sample database in another process. */
  openSample?: (named: NamedDatabase) => Promise<string>;
  /** False for a process that nobody calls. */
  listens?: boolean;
  /** For tests: checks every answer against the contract. */
  checkAnswers?: boolean;
  /** For tests: a nested transaction is an error. */
  refuseNestedTransactions?: boolean;
  /** For tests: shorter limits for streams. */
  streamLimits?: Partial<StreamLimits>;
  /** For tests: cuts off slow senders earlier. */
  headersMsMax?: number;
  /** For tests: more trusted certificates, and another resolver. */
  outbound?: Omit<OutboundOptions, 'allowedSubnets'>;
}

export interface App {
  readonly address: string;
  readonly platform: Platform;
  readonly tasks: PeriodicTasks;
  /** Opens the sample database; resolves with its address. */
  openSample(named: NamedDatabase): Promise<string>;
  /** Fails if the configured provider cannot be used and nobody could ever sign in. */
  requireProvider(): Promise<void>;
  /** The one-time sign-in link of a fresh installation, if there is one. */
  readonly signInLink: string | undefined;
  /** Makes another link, after the first was used. */
  newSignInLink(): Promise<string | undefined>;
  /**
   * With `lingers`, because another process replaces this one: calls that still arrive are answered and told to
   * reconnect.
   */
  close(options?: { lingers: boolean }): Promise<void>;
}

/** Configuration → platform → modules → roles. What was opened last is closed first. */
export async function startApp(config: Config, overrides: AppOverrides = {}): Promise<App> {
  const log = overrides.log ?? createProcessLogger(config);
  const lifecycle = new Lifecycle(log);
  try {
    return await start(config, overrides, log, lifecycle);
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

async function start(config: Config, overrides: AppOverrides, log: Logger, lifecycle: Lifecycle): Promise<App> {
  const embeddedDatabase = overrides.embeddedDatabase ?? startEmbeddedDatabase(config, log);
  lifecycle.onClose('embedded database', () => stopEmbeddedDatabase(embeddedDatabase));
  const { jobProcess } = overrides;
  const stopTracing = await startTracing(config, version);
  if (stopTracing) lifecycle.onClose('tracing', stopTracing);
  const clock = overrides.clock ?? systemClock;
  const ids = createIds(clock);
  await requireDataFolder(config, log);
  const keyring = await loadKeyring(config);
  const appUrl = await openDatabase(config, keyring, log, embeddedDatabase);
  const database = connectDatabase({
    url: appUrl,
    poolSize: config.DATABASE_POOL_SIZE,
    log,
    refuseNested: overrides.refuseNestedTransactions ?? false,
  });
  lifecycle.onClose('database pool', () => database.close());
  const queue = new Queue(
    { url: appUrl, jobs: jobDefinitions, log },
    config.HOLDFAST_ROLES.includes('worker') || config.HOLDFAST_ROLES.includes('scheduler'),
  );
  const stopping = new Stopping();
  stopping.signal.addEventListener('abort', () => {
    void queue.stopTaking().catch(() => undefined);
    void jobProcess?.stop();
  });
  const address = { value: '' };
  const cpuTurns = new CpuTurns();
  const platform: Platform = {
    config,
    clock,
    ids,
    log,
    database,
    changes: new Changes(database.notices),
    queue,
    keyring,
    outbox: new Outbox(clock, ids),
    cursors: new Cursors(keyring.derive('cursors')),
    cpuTurns,
    outbound: createOutbound({ allowedSubnets: config.OUTBOUND_ALLOWED_SUBNETS, ...overrides.outbound }),
    baseUrl: () => config.BASE_URL ?? address.value,
  };
  const composition = composeModules(platform, overrides.openSample);
  const { modules, authenticator, onDenied, checkStorage, signInLink, requireProvider, remindOfKits, measure } =
    composition;
  lifecycle.onClose('modules', () => composition.close());
  // Its jobs may read the sample database, which is one of ours.
  if (jobProcess) lifecycle.onClose('process of the jobs', () => jobProcess.stop());
  await queue.start();
  lifecycle.onClose('queue', () => queue.close(stopping.graceMs));

  const state = { ready: false };
  const redis = config.REDIS_URL ? await connectRedis(config.REDIS_URL, log) : undefined;
  if (redis) lifecycle.onClose('redis', () => redis.disconnect());
  const memoryLimiter = new MemoryRateLimiter(clock);
  const metrics = new Metrics();
  const isApi = config.HOLDFAST_ROLES.includes('api');
  const system = systemHandlers({
    clock,
    database,
    metrics,
    checkStorage,
    lateTasks: () => lateTasks(database),
    metricsToken: config.METRICS_TOKEN,
    // Only one role reports metrics of the whole installation, so that ten workers do not report the same ten times.
    measure: isApi ? measure : async () => [],
    isBehindProxy: config.TRUST_PROXY !== false,
    isReady: () => state.ready && !stopping.signal.aborted,
    checkRedis: async () => (redis ? ((await redis.ping()) === 'PONG' ? 'ok' : 'error') : 'not configured'),
  });
  const http = await createHttpServer({
    handlers: Object.assign({}, system, ...(isApi ? modules.map((module) => module.handlers) : [])),
    authenticator,
    database,
    clock,
    ids,
    log,
    metrics,
    isTraced: stopTracing !== undefined,
    onDenied,
    limiter: redis ? new RedisRateLimiter(redis, memoryLimiter) : memoryLimiter,
    trustProxy: config.TRUST_PROXY,
    rateLimitPerMinute: config.RATE_LIMIT_PER_MINUTE,
    authRateLimitPerMinute: config.AUTH_RATE_LIMIT_PER_MINUTE,
    refusedRateLimitPerMinute: config.REFUSED_RATE_LIMIT_PER_MINUTE,
    streamLimits: { ...usualStreamLimits, ...overrides.streamLimits },
    stopping: stopping.signal,
    headersMsMax: overrides.headersMsMax ?? usualHeadersMsMax,
    calls: cpuTurns,
    publicOrigin: () => new URL(platform.baseUrl()).origin,
    checkAnswers: overrides.checkAnswers ?? false,
  });
  if (isApi) servePages(http, overrides.dashboardFolder);
  if (overrides.listens ?? true) address.value = await listen(http, config, lifecycle, stopping);

  if (config.HOLDFAST_ROLES.includes('worker')) {
    for (const module of modules) {
      for (const worker of module.workers ?? []) await worker.start(queue);
      const stop = await module.run?.();
      if (stop) lifecycle.onClose('runner', stop);
    }
  }
  const tasks = new PeriodicTasks(
    [retryLostJobs(queue), ...modules.flatMap((module) => module.tasks ?? [])],
    database,
    log,
    clock,
  );
  lifecycle.onClose('periodic tasks', () => tasks.close());
  if (config.HOLDFAST_ROLES.includes('scheduler')) await tasks.start();
  state.ready = true;
  log.info(
    { version, roles: config.HOLDFAST_ROLES.join(','), address: address.value, data: config.HOLDFAST_DATA },
    'the service started',
  );
  if (isApi) await remindOfKits();
  return {
    address: address.value,
    platform,
    tasks,
    openSample: composition.openSample,
    requireProvider,
    signInLink: isApi ? await signInLink() : undefined,
    newSignInLink: signInLink,
    close: async ({ lingers } = { lingers: false }) => {
      const graceSeconds = config.SHUTDOWN_GRACE_SECONDS;
      log.info({ graceSeconds }, 'the service stops');
      stopping.begin(graceSeconds * secondMs, lingers && isApi);
      await lifecycle.close();
      log.info('the service has stopped');
    },
  };
}

/**
 * Opens the external database if one is configured, or else the embedded server. Either way it is migrated, and the
 * service uses a login without rights of its own.
 */
export async function openDatabase(
  config: Config,
  keyring: MasterKeyring,
  log: Logger,
  embeddedDatabase: Promise<EmbeddedPostgres> | undefined,
): Promise<string> {
  const ownerUrl = embeddedDatabase ? (await embeddedDatabase).url : config.DATABASE_URL;
  if (ownerUrl === undefined) throw new Error('there is no database');
  for (const url of [config.DATABASE_URL, config.DATABASE_APP_URL]) if (url) await refuseSharedSessions(url);
  return prepareDatabase({
    ownerUrl,
    appUrl: config.DATABASE_APP_URL,
    keyring,
    log,
    functions: databaseFunctions,
    afterTables: (url) => prepareQueue(url, jobDefinitions),
    fingerprint: queueFingerprint(jobDefinitions),
  });
}

async function listen(
  http: FastifyInstance,
  config: Config,
  lifecycle: Lifecycle,
  stopping: Stopping,
): Promise<string> {
  const silent = new SilentConnections(http);
  await http.listen({ port: config.PORT, host: config.HOST });
  lifecycle.onClose('http server', () => stopping.end(http, silent));
  const { port } = http.server.address() as { port: number };
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  return `http://${host === '0.0.0.0' || host === '[::]' ? 'localhost' : host}:${port}`;
}

function retryLostJobs(queue: Queue): PeriodicTask {
  return { name: 'hurry lost jobs', everyMs: 5 * secondMs, run: () => queue.retryLostSoon() };
}
