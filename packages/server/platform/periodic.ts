import type { Database } from './database/database.ts';
import type { Logger } from './log.ts';

/** House-keeping that runs again and again, in one process at a time. Each run must be harmless to repeat. */
export interface PeriodicTask {
  readonly name: string;
  readonly everyMs: number;
  run(signal: AbortSignal): Promise<void>;
}

export class PeriodicTasks {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();

  constructor(database: Database, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  start(tasks: readonly PeriodicTask[]): void {
    for (const task of tasks) {
      const timer = setInterval(() => this.#tick(task), task.everyMs);
      this.#timers.add(timer);
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort(new Error('the service is shutting down'));
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.allSettled(this.#running);
  }

  #tick(task: PeriodicTask): void {
    const run = this.#runAlone(task).catch((error: unknown) =>
      this.#log.warn({ err: error, task: task.name }, 'a periodic task failed; it will run again'),
    );
    this.#running.add(run);
    run.finally(() => this.#running.delete(run));
  }

  /** Other processes of the scheduler role skip their turn while one holds the task's lock. */
  async #runAlone(task: PeriodicTask): Promise<void> {
    await this.#database.system(async ({ client }) => {
      const { rows } = await client.query(
        `select pg_try_advisory_xact_lock(hashtext('holdfast task'), hashtext($1)) as held`,
        [task.name],
      );
      if (rows[0].held) await task.run(this.#stopping.signal);
    });
  }
}
