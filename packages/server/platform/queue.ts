import { SpanKind } from '@opentelemetry/api';
import { type ConstructorOptions, type JobWithMetadata, PgBoss } from 'pg-boss';
import { z } from 'zod';
import { connectionLimits, searchPathOption, serviceName, type Transaction } from './database/database.ts';
import { queueRole } from './database/queue-grants.ts';
import { daySeconds, hourSeconds, minuteMs, secondMs } from './durations.ts';
import { JobLog } from './job-log.ts';
import type { Logger } from './log.ts';
import type { Keyring } from './secrets/keyring.ts';
import { sharingLooks } from './shared-looks.ts';
import { StandingBack } from './standing-back.ts';
import { inSpan } from './tracing.ts';

/** How the queue treats a kind of job. */
export interface JobSettings {
  readonly name: string;
  /** How often a failed or orphaned job is tried again. */
  readonly retryLimit: number;
  readonly retryDelaySeconds: number;
  /** The longest one attempt may take. */
  readonly timeoutSeconds: number;
  /** At most one queued or running job per key of this kind. */
  readonly exclusive?: boolean;
  /**
   * For jobs that begin without an admission: how many of one organization run at once, in all processes together. With more
   * places than that, many waiting jobs of one organization leave some to others. Places that are all idle when a burst comes
   * may be taken once by one organization, and are given back as those jobs end.
   */
  readonly perOrganizationMax?: number;
  /** For jobs that carry something sealed: the same under the master key in use. */
  reseal?(data: object, keyring: Keyring): object;
}

/** A kind of job, apart from the code that runs it: whoever enqueues need not know who works. */
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
  /** Whose the job is, where its data do not say so. */
  organizationId?: string;
}

export interface RunningJob<Data> {
  readonly id: string;
  readonly data: Data;
  /** 1 on the first try. */
  readonly attempt: number;
  readonly lastAttempt: boolean;
  /** Aborted when the service shuts down or the job's time is up; the handler stops soon and throws, and the job runs elsewhere. */
  readonly signal: AbortSignal;
  /** Whether work of the same kind of another organization waits for a place. */
  othersWait?(): Promise<boolean>;
}

/** Thrown by a job that waits for something that does not answer while others wait for its place: it goes on later, and nothing has failed. */
export class PutOff extends Error {}

export type JobHandler<Data> = (job: RunningJob<Data>) => Promise<void>;

/** A worker that has not been heard of for this long is taken for dead, and its job runs elsewhere. The queue's least. */
const heartbeatSeconds = 10;
/** At most, before what a dead worker left is taken up again. */
const lostDelaySeconds = 10;
/** New jobs are announced. For those whose time has come since then, one question for all kinds is asked this often. */
const lookEveryMs = 2 * secondMs;
/** A place looks for itself this often, in case everything else has failed: each look is a question of its own. */
const placeLooksEverySeconds = 60;
const schema = 'pgboss';

/** The role of the queue's own connections, and the same limits as everywhere, in the form in which they are handed on. */
export const queueSessionOptions = [
  `-c role=${queueRole}`,
  searchPathOption,
  `-c statement_timeout=${connectionLimits.statement_timeout}`,
  `-c lock_timeout=${connectionLimits.lock_timeout}`,
  `-c idle_in_transaction_session_timeout=${connectionLimits.idle_in_transaction_session_timeout}`,
].join(' ');

/** A connection to a server that takes no changes any more is not kept for ever. */
const connectionLife = { maxLifetimeSeconds: minuteMs / secondMs };

export interface QueueOptions {
  url: string;
  jobs: readonly JobSettings[];
  log: Logger;
  /** How often dead workers are looked for. */
  monitorSeconds?: number;
}

/** Makes the queue's own tables and queues; runs as the owner of the database. */
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

/** Jobs are enqueued in the transaction of the change that wants them, and worked by any process with the worker role. */
export class Queue {
  readonly #boss: PgBoss;
  readonly #log: Logger;
  readonly #jobLog: JobLog;
  readonly #standingBack = new StandingBack();
  readonly #worked = new Set<string>();
  readonly #stopping = new AbortController();
  #supervising = false;
  #looks: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
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
      // No job of ours waits for another one.
      flowIntervalSeconds: hourSeconds,
      useListenNotify: true,
      superviseIntervalSeconds: options.monitorSeconds ?? 5,
      monitorIntervalSeconds: options.monitorSeconds ?? 5,
      maintenanceIntervalSeconds: 300,
    };
    this.#boss = new PgBoss(settings);
    const own = this.#boss.getDb();
    own.executeSql = sharingLooks(own.executeSql.bind(own));
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

  /** Null when the job is exclusive and one with this key waits already. */
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

  /** What the jobs of a kind that wait, are put off or run were given. */
  async open<Data extends object>(job: JobDefinition<Data>): Promise<Data[]> {
    const { rows } = await this.#boss
      .getDb()
      .executeSql(`select data from ${schema}.job where name = $1 and state in ('created', 'retry', 'active')`, [
        job.name,
      ]);
    return rows.map(({ data }) => job.schema.parse(data));
  }

  /** Jobs that wait, are put off or run, counted at this moment: what the queue itself keeps is only as new as its last look. */
  async counts(): Promise<{ kind: string; state: string; count: number }[]> {
    const { rows } = await this.#boss.getDb().executeSql(
      `select name as kind, case when state = 'active' then 'active' when start_after > now() then 'delayed' else 'waiting' end
                as state, count(*)::int as count
         from ${schema}.job where state in ('created', 'retry', 'active') group by 1, 2`,
    );
    return rows;
  }

  /**
   * Jobs whose worker died did not fail, so they need not wait ever longer for their next try. They wait a little all the
   * same, for one that ends whoever takes it.
   */
  async hurryLost(): Promise<void> {
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
    this.#looks ??= setInterval(() => {
      this.#looking ??= this.#lookForDue().finally(() => {
        this.#looking = undefined;
      });
    }, lookEveryMs);
    const options = {
      pollingIntervalSeconds: 2,
      notifyPollingIntervalSeconds: placeLooksEverySeconds,
      heartbeatRefreshSeconds: 3,
      batchSize: 1,
      includeMetadata: true,
      ...placesFor(job, concurrency),
    } as const;
    await this.#boss.work(job.name, options, async ([claimed]: JobWithMetadata<Data>[]) => {
      if (!claimed) return;
      this.#lookAgain(job.name);
      await this.#run(job, claimed, handler);
    });
  }

  /** A job that is tried again, or begins later, is announced by nobody when its time has come. */
  async #lookForDue(): Promise<void> {
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

  /** Left to itself a place would wait out its polling interval after every job, so those that are busy are told to look at once. */
  #lookAgain(name: string): void {
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
    if (!lastAttempt && this.#standingBack.has(job.name, groupId) && (await othersWait()))
      throw new PutOff('Work of this organization waited in vain a moment ago, and others wait.');
    this.#jobLog.began({ id, name: job.name, attempt, data, before: output });
    try {
      const signal = AbortSignal.any([claimed.signal, this.#stopping.signal]);
      const running = { id, data: job.schema.parse(data), attempt, lastAttempt, signal, othersWait };
      const attributes = { 'holdfast.job.id': id, 'holdfast.job.attempt': attempt };
      await inSpan(`job ${job.name}`, attributes, () => handler(running), SpanKind.CONSUMER);
      this.#jobLog.ended(id);
    } catch (error) {
      if (error instanceof PutOff) this.#standingBack.add(job.name, groupId);
      this.#jobLog.failed(id, lastAttempt);
      // Kept with the job for whoever takes it over: nobody cancelled anything.
      throw this.#stopping.signal.aborted ? new Error('The process that ran it was stopped.', { cause: error }) : error;
    }
  }

  /** Those that stand back themselves do not count. */
  async #othersWait(name: string, organizationId: string | null): Promise<boolean> {
    const { rows } = await this.#boss.getDb().executeSql(
      `select 1 from ${schema}.job where name = $1 and state in ('created', 'retry') and start_after <= now()
          and group_id is distinct from $2 and coalesce(group_id, '') <> all($3) limit 1`,
      [name, organizationId, this.#standingBack.of(name)],
    );
    return rows.length > 0;
  }

  /** No more work is taken here, and running jobs are told to stop. Jobs can still be enqueued. */
  stopTaking(): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    this.#jobLog.stopping();
    clearInterval(this.#looks);
    // First no more work is taken: a job that was handed back would be claimed here again, and lose an attempt.
    await Promise.all([...this.#worked].map((name) => this.#boss.offWork(name, { wait: false })));
    this.#stopping.abort(new Error('the service is shutting down'));
  }

  /** Running jobs are given `graceMs`; what is still running then is handed back. */
  async close(graceMs: number): Promise<void> {
    await this.stopTaking();
    await this.#looking;
    await this.#boss.stop({ graceful: true, timeout: Math.max(1000, graceMs) });
    this.#jobLog.stopped();
  }
}

/**
 * Jobs of organizations have one place more than `concurrency`, and none of them may take that many: whatever its jobs hang
 * on, one place of every process is left to the others.
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
