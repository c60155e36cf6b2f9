import { SpanKind } from '@opentelemetry/api';
import { type ConstructorOptions, type JobWithMetadata, PgBoss } from 'pg-boss';
import { z } from 'zod';
import { connectionLimits, searchPathOption, serviceName, type Transaction } from './database/database.ts';
import { queueRole } from './database/queue-grants.ts';
import { daySeconds, hourSeconds, minuteMs, secondMs } from './durations.ts';
import { JobLog } from './job-log.ts';
import type { Logger } from './log.ts';
import type { MasterKeyring } from './secrets/master-keyring.ts';
import { shareJobQueries } from './shared-job-queries.ts';
import { inSpan } from './tracing.ts';
import { YieldingOrganizations } from './yielding-organizations.ts';

/** How the queue handles a kind of job. */
export interface JobSettings {
  readonly name: string;
  /** How often a failed or orphaned job is retried. */
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
  /** The longest time for one attempt. */
  readonly timeoutSeconds: number;
  /** At most one queued or running job per key of this kind. */
  readonly exclusive?: boolean;
  /**
   * For jobs without an admission: how many of one organization run at once, in all processes together. With more
   * places than that, waiting jobs of one organization leave some to others. When a burst finds all places idle, one
   * organization may take all of them once; they are given back as those jobs end.
   */
  readonly perOrganizationMax?: number;
  /** For jobs with sealed data: returns the data sealed under the current master key. */
  reseal?(data: object, keyring: MasterKeyring): object;
}

/** A kind of job, separate from its handler: the code that enqueues need not know the worker. */
export interface JobDefinition<Data extends object> extends JobSettings {
  readonly schema: z.ZodType<Data>;
}

export function defineJob<Data extends object>(definition: JobDefinition<Data>): JobDefinition<Data> {
  return definition;
}

export interface EnqueueOptions {
  key?: string;
  startAfter?: Date;
  priority?: number;
  /** The organization of the job, if its data do not name it. */
  organizationId?: string;
}

export interface RunningJob<Data> {
  readonly id: string;
  readonly data: Data;
  /** 1 on the first try. */
  readonly attempt: number;
  readonly lastAttempt: boolean;
  /**
   * Aborted when the service shuts down or the job's time is up. The handler then stops soon and throws, and the job
   * runs elsewhere.
   */
  readonly signal: AbortSignal;
  /** Whether work of the same kind of another organization waits for a place. */
  othersWait?(): Promise<boolean>;
}

/** Thrown by a job that gets no answer while others wait for its place. It continues later and has not failed. */
export class Postponed extends Error {}

export type JobHandler<Data> = (job: RunningJob<Data>) => Promise<void>;

/** A worker without a heartbeat for this long is considered dead, and its job runs elsewhere. The queue's minimum. */
const heartbeatSeconds = 10;
/** The longest wait before a dead worker's job runs again. */
const lostDelaySeconds = 10;
/** New jobs are announced. For jobs that become due later, one query for all kinds runs this often. */
const pollEveryMs = 2 * secondMs;
/** As a fallback each place asks for a job this often, with its own query. */
const placePollSeconds = 60;
const schema = 'pgboss';

/** The role of the queue's own connections, with the usual limits, as connection options. */
export const queueSessionOptions = [
  `-c role=${queueRole}`,
  searchPathOption,
  `-c statement_timeout=${connectionLimits.statement_timeout}`,
  `-c lock_timeout=${connectionLimits.lock_timeout}`,
  `-c idle_in_transaction_session_timeout=${connectionLimits.idle_in_transaction_session_timeout}`,
].join(' ');

/** Replaces old connections, in case the server has become read-only. */
const connectionLife = { maxLifetimeSeconds: minuteMs / secondMs };

export interface QueueOptions {
  url: string;
  jobs: readonly JobSettings[];
  log: Logger;
  /** How often dead workers are looked for. */
  monitorSeconds?: number;
}

/** Creates the queue's own tables and queues; runs as the owner of the database. */
export async function prepareQueue(ownerUrl: string, jobs: readonly JobSettings[]): Promise<void> {
  const boss = new PgBoss({ connectionString: ownerUrl, schema, max: 2, supervise: false, schedule: false });
  boss.on('error', () => undefined);
  await boss.start();
  try {
    const existing = new Set((await boss.getQueues()).map((queue) => queue.name));
    for (const job of jobs) await prepareJobQueue(boss, job, existing.has(job.name));
  } finally {
    await boss.stop({ graceful: false });
  }
}

/** Changes whenever `prepareQueue` would do something else. */
export function queueFingerprint(jobs: readonly JobSettings[]): string {
  return JSON.stringify([prepareJobQueue.toString(), jobs.map(settingsOf)]);
}

function settingsOf({ name, retryLimit, retryDelaySeconds, timeoutSeconds, exclusive }: JobSettings): JobSettings {
  return { name, retryLimit, retryDelaySeconds, timeoutSeconds, ...(exclusive === undefined ? {} : { exclusive }) };
}

async function prepareJobQueue(boss: PgBoss, job: JobSettings, exists: boolean): Promise<void> {
  const settings = {
    retryLimit: job.retryLimit,
    retryDelay: job.retryDelaySeconds,
    ...(job.retryDelaySeconds > 0 ? { retryBackoff: true, retryDelayMax: 300 } : {}),
    expireInSeconds: job.timeoutSeconds,
    heartbeatSeconds,
    notify: true,
    deleteAfterSeconds: daySeconds,
  };
  if (exists) await boss.updateQueue(job.name, settings);
  else await boss.createQueue(job.name, { ...settings, policy: job.exclusive ? 'exclusive' : 'standard' });
}

/** Jobs are enqueued in the transaction of their change, and run by any process with the worker role. */
export class Queue {
  readonly #boss: PgBoss;
  readonly #log: Logger;
  readonly #jobLog: JobLog;
  readonly #yielding = new YieldingOrganizations();
  readonly #worked = new Set<string>();
  readonly #stopping = new AbortController();
  #supervising = false;
  #pollTimer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #leaving: Promise<void> | undefined;

  constructor(options: QueueOptions, supervise: boolean) {
    const settings: ConstructorOptions = {
      connectionString: options.url,
      schema,
      max: 6,
      application_name: `${serviceName} queue`,
      ...connectionLife,
      connectionTimeoutMillis: connectionLimits.connectionTimeoutMillis,
      options: queueSessionOptions,
      migrate: false,
      createSchema: false,
      schedule: false,
      supervise,
      reindex: false,
      // None of our jobs waits for another one.
      flowIntervalSeconds: hourSeconds,
      useListenNotify: true,
      superviseIntervalSeconds: options.monitorSeconds ?? 5,
      monitorIntervalSeconds: options.monitorSeconds ?? 5,
      maintenanceIntervalSeconds: 300,
    };
    this.#boss = new PgBoss(settings);
    const own = this.#boss.getDb();
    own.executeSql = shareJobQueries(own.executeSql.bind(own));
    this.#log = options.log;
    this.#jobLog = new JobLog(options.log);
    this.#supervising = supervise;
    this.#boss.on('error', (error) => this.#log.warn({ err: error }, 'the queue had trouble; it goes on'));
    this.#boss.on('warning', (warning) => this.#log.debug({ warning }, 'queue warning'));
  }

  get supervising(): boolean {
    return this.#supervising;
  }

  async start(): Promise<void> {
    await this.#boss.start();
  }

  /** Null when the job is exclusive and one with this key is already waiting. */
  async enqueue<Data extends object>(
    transaction: Transaction,
    job: JobDefinition<Data>,
    data: Data,
    options: EnqueueOptions = {},
  ): Promise<string | null> {
    const checked = job.schema.parse(data);
    return this.#boss.send(job.name, checked, {
      ...groupOf(job, checked, options),
      ...(options.key === undefined ? {} : { singletonKey: options.key }),
      ...(options.startAfter === undefined ? {} : { startAfter: options.startAfter }),
      ...(options.priority === undefined ? {} : { priority: options.priority }),
      db: { executeSql: (text, values) => transaction.client.query(text, values) },
    });
  }

  /** The data of the jobs of a kind that wait, are postponed or run. */
  async open<Data extends object>(job: JobDefinition<Data>): Promise<Data[]> {
    const { rows } = await this.#boss
      .getDb()
      .executeSql(`select data from ${schema}.job where name = $1 and state in ('created', 'retry', 'active')`, [
        job.name,
      ]);
    return rows.map(({ data }) => job.schema.parse(data));
  }

  /** Jobs that wait, are postponed or run, counted now: the queue's own counts are as old as its last check. */
  async counts(): Promise<{ kind: string; state: string; count: number }[]> {
    const { rows } = await this.#boss.getDb().executeSql(
      `select name as kind, case when state = 'active' then 'active' when start_after > now() then 'delayed' else 'waiting' end
                as state, count(*)::int as count
         from ${schema}.job where state in ('created', 'retry', 'active') group by 1, 2`,
    );
    return rows;
  }

  /**
   * Jobs of dead workers did not fail, so their delay need not grow with each try. They still wait a little, in case
   * the job itself kills its worker.
   */
  async retryLostSoon(): Promise<void> {
    await this.#boss.getDb().executeSql(
      `update ${schema}.job set start_after = now() + make_interval(secs => $1)
        where state = 'retry' and start_after > now() + make_interval(secs => $1)
          and output->'value'->>'message' = 'job heartbeat timeout'`,
      [lostDelaySeconds],
    );
  }

  async work<Data extends object>(
    job: JobDefinition<Data>,
    concurrency: number,
    handler: JobHandler<Data>,
  ): Promise<void> {
    this.#worked.add(job.name);
    this.#pollTimer ??= setInterval(() => {
      this.#polling ??= this.#pollDueJobs().finally(() => {
        this.#polling = undefined;
      });
    }, pollEveryMs);
    const options = {
      pollingIntervalSeconds: 2,
      notifyPollingIntervalSeconds: placePollSeconds,
      heartbeatRefreshSeconds: 3,
      batchSize: 1,
      includeMetadata: true,
      ...placesFor(job, concurrency),
    } as const;
    await this.#boss.work(job.name, options, async ([claimed]: JobWithMetadata<Data>[]) => {
      if (!claimed) return;
      this.#wakePlaces(job.name);
      await this.#run(job, claimed, handler);
    });
  }

  /** Nobody announces a job that is retried or begins later, so its time is polled here. */
  async #pollDueJobs(): Promise<void> {
    try {
      const { rows } = await this.#boss.getDb().executeSql(
        `select name from unnest($1::text[]) as kind (name) where exists (select 1 from ${schema}.job
           where job.name = kind.name and state < 'active' and not blocked and start_after <= now())`,
        [[...this.#worked]],
      );
      const due = new Set(rows.map(({ name }: { name: string }) => name));
      for (const place of this.#boss.getWipData()) if (due.has(place.name)) this.#boss.notifyWorker(place.id);
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        this.#log.warn({ err: error }, 'the queue could not be asked for what is due; it is asked again');
    }
  }

  /** Otherwise a place would wait for its polling interval after every job, so busy places are told to look at once. */
  #wakePlaces(name: string): void {
    for (const place of this.#boss.getWipData())
      if (place.name === name && place.count > 0) this.#boss.notifyWorker(place.id);
  }

  async #run<Data extends object>(
    job: JobDefinition<Data>,
    claimed: JobWithMetadata<Data>,
    handler: JobHandler<Data>,
  ): Promise<void> {
    const { id, retryCount, data, output, groupId = null } = claimed;
    const attempt = retryCount + 1;
    const lastAttempt = retryCount >= job.retryLimit;
    const othersWait = () => this.#othersWait(job.name, groupId);
    if (!lastAttempt && this.#yielding.has(job.name, groupId) && (await othersWait()))
      throw new Postponed('Work of this organization waited in vain a moment ago, and others wait.');
    this.#jobLog.began({ id, name: job.name, attempt, data, before: output });
    try {
      const signal = AbortSignal.any([claimed.signal, this.#stopping.signal]);
      const running = { id, data: job.schema.parse(data), attempt, lastAttempt, signal, othersWait };
      const attributes = { 'holdfast.job.id': id, 'holdfast.job.attempt': attempt };
      await inSpan(`job ${job.name}`, attributes, () => handler(running), SpanKind.CONSUMER);
      this.#jobLog.ended(id);
    } catch (error) {
      if (error instanceof Postponed) this.#yielding.add(job.name, groupId);
      this.#jobLog.failed(id, lastAttempt);
      // Saved with the job for its next worker: nobody cancelled anything.
      throw this.#stopping.signal.aborted ? new Error('The process that ran it was stopped.', { cause: error }) : error;
    }
  }

  /** Organizations that are yielding themselves do not count. */
  async #othersWait(name: string, organizationId: string | null): Promise<boolean> {
    const { rows } = await this.#boss.getDb().executeSql(
      `select 1 from ${schema}.job where name = $1 and state in ('created', 'retry') and start_after <= now()
          and group_id is distinct from $2 and coalesce(group_id, '') <> all($3) limit 1`,
      [name, organizationId, this.#yielding.of(name)],
    );
    return rows.length > 0;
  }

  /** Takes no more work here and aborts running jobs. Jobs can still be enqueued. */
  stopTaking(): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    this.#jobLog.stopping();
    clearInterval(this.#pollTimer);
    // Stops taking work first: otherwise this process would claim a job that it just handed back, and waste an attempt.
    await Promise.all([...this.#worked].map((name) => this.#boss.offWork(name, { wait: false })));
    this.#stopping.abort(new Error('the service is shutting down'));
  }

  /** Running jobs get `graceMs` to end; the rest is handed back. */
  async close(graceMs: number): Promise<void> {
    await this.stopTaking();
    await this.#polling;
    await this.#boss.stop({ graceful: true, timeout: Math.max(1000, graceMs) });
    this.#jobLog.stopped();
  }
}

/**
 * Jobs of organizations have one place more than `concurrency`, and no organization may take all of them: when its jobs
 * hang, one place of every process is left to the others.
 */
function placesFor(job: JobDefinition<object>, concurrency: number) {
  if (job.perOrganizationMax !== undefined)
    return { localConcurrency: concurrency, groupConcurrency: job.perOrganizationMax };
  if (!isOfOrganization(job)) return { localConcurrency: concurrency };
  return { localConcurrency: concurrency + 1, localGroupConcurrency: concurrency };
}

function isOfOrganization({ schema }: JobDefinition<object>): boolean {
  return schema instanceof z.ZodObject && 'organizationId' in schema.shape;
}

function groupOf(job: JobDefinition<object>, data: object, options: EnqueueOptions) {
  if (job.perOrganizationMax === undefined && !isOfOrganization(job)) return {};
  return { group: { id: organizationOf(data, options) } };
}

function organizationOf(data: object, { organizationId }: EnqueueOptions): string {
  const id = organizationId ?? ('organizationId' in data ? data.organizationId : undefined);
  if (typeof id !== 'string') throw new Error('a job that organizations share says whose it is');
  return id;
}
