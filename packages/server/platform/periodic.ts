import type { Clock } from './clock.ts';
import { requireClocksAgree } from './clock-agreement.ts';
import type { Database, Transaction } from './database/database.ts';
import { minuteMs, secondMs } from './durations.ts';
import type { Logger } from './log.ts';

/** A task that runs periodically. Each run must be bounded, and safe to repeat and to abort. */
export interface PeriodicTask {
  readonly name: string;
  readonly everyMs: number;
  /** Several processes may run it at once; otherwise one at a time does. */
  readonly everywhere?: boolean;
  /** It removes old data, and does not run while the clocks disagree. */
  readonly removesByAge?: boolean;
  run(signal: AbortSignal): Promise<void>;
}

/** Rarer tasks are checked this often, so that restarts do not delay them again and again. */
const checkEveryMs = minuteMs;
/** Frequent tasks save a sign of success this often. */
const noteEveryMs = 20 * secondMs;
/** A task that has not succeeded for so many of its periods is late. */
const latePeriods = 3;
const lateAfterMsMin = 5 * minuteMs;

export class PeriodicTasks {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #tasks: readonly PeriodicTask[];
  readonly #stopping = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #running = new Map<PeriodicTask, Promise<void>>();
  readonly #notedMs = new Map<PeriodicTask, number>();

  constructor(tasks: readonly PeriodicTask[], database: Database, log: Logger, clock: Clock) {
    this.#tasks = tasks;
    this.#database = database;
    this.#log = log;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    await this.#database.system((transaction) => register(transaction, this.#tasks));
    for (const task of this.#tasks)
      this.#timers.add(setInterval(() => this.#tick(task), Math.min(task.everyMs, checkEveryMs)));
  }

  /** Runs a task at once and waits for it: tests use this instead of waiting for the time. */
  async runNow(name: string): Promise<void> {
    const task = this.#tasks.find((candidate) => candidate.name === name);
    if (!task) throw new Error(`there is no periodic task "${name}"`);
    while (!(await this.#runAlone(task))) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  get names(): readonly string[] {
    return this.#tasks.map((task) => task.name);
  }

  async close(): Promise<void> {
    this.#stopping.abort(new Error('the service is shutting down'));
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.allSettled(this.#running.values());
  }

  /** Skips a tick while the previous run is still going. */
  #tick(task: PeriodicTask): void {
    if (this.#running.has(task)) return;
    const run = this.#runIfDue(task)
      .catch(async (error: unknown) => {
        this.#log.warn({ err: error, task: task.name }, 'a periodic task failed; it will run again');
        await this.#database.system((transaction) => noteFailure(transaction, task, error)).catch(() => undefined);
      })
      .finally(() => this.#running.delete(task));
    this.#running.set(task, run);
  }

  async #runIfDue(task: PeriodicTask): Promise<void> {
    if (task.everyMs <= checkEveryMs || (await this.#database.system((transaction) => isDue(transaction, task))))
      await this.#runAlone(task);
  }

  /** Other processes of the scheduler role skip their turn while one has the task's lock. */
  async #runAlone(task: PeriodicTask): Promise<boolean> {
    const work = async (signal: AbortSignal) => {
      if (task.removesByAge) await requireClocksAgree(this.#clock, this.#database);
      await task.run(signal);
      await this.#noteSuccess(task);
    };
    if (!task.everywhere) return this.#database.taskLocks.runAlone(task.name, this.#stopping.signal, work);
    await work(this.#stopping.signal);
    return true;
  }

  async #noteSuccess(task: PeriodicTask): Promise<void> {
    const nowMs = performance.now();
    const notedMs = this.#notedMs.get(task);
    if (notedMs !== undefined && task.everyMs < noteEveryMs && nowMs - notedMs < noteEveryMs) return;
    this.#notedMs.set(task, nowMs);
    await this.#database.system((transaction) => noteSuccess(transaction, task));
  }
}

/** Times are the database's, because all processes share them. Tasks of an older version are removed. */
async function register({ client }: Transaction, tasks: readonly PeriodicTask[]): Promise<void> {
  const names = tasks.map(({ name }) => name);
  await client.query('delete from periodic_tasks where name <> all($1)', [names]);
  await client.query(
    `insert into periodic_tasks (name, every_ms, registered_at)
     select name, every_ms, now() from unnest($1::text[], $2::bigint[]) as t (name, every_ms)
     on conflict (name) do update set every_ms = excluded.every_ms`,
    [names, tasks.map(({ everyMs }) => everyMs)],
  );
}

async function isDue({ client }: Transaction, task: PeriodicTask): Promise<boolean> {
  const { rowCount } = await client.query(
    `select 1 from periodic_tasks
      where name = $1 and succeeded_at > now() - make_interval(secs => $2::float8 / 1000)`,
    [task.name, task.everyMs],
  );
  return rowCount === 0;
}

async function noteSuccess({ client }: Transaction, task: PeriodicTask): Promise<void> {
  await client.query('update periodic_tasks set succeeded_at = clock_timestamp(), error = null where name = $1', [
    task.name,
  ]);
}

async function noteFailure({ client }: Transaction, task: PeriodicTask, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  await client.query('update periodic_tasks set error = $2 where name = $1', [task.name, message.slice(0, 1000)]);
}

/** Tasks that should have succeeded long ago: one fails, or no process with the scheduler role runs. */
export function lateTasks(database: Database): Promise<string[]> {
  return database.system(async ({ client }) => {
    const { rows } = await client.query<{ name: string }>(
      `select name from periodic_tasks
        where coalesce(succeeded_at, registered_at)
              < now() - make_interval(secs => greatest($1::float8, every_ms * $2::float8) / 1000)
        order by name`,
      [lateAfterMsMin, latePeriods],
    );
    return rows.map(({ name }) => name);
  });
}
