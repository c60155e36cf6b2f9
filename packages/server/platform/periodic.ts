import type { TaskLocks } from './database/task-locks.ts';
import type { Logger } from './log.ts';

/** House-keeping that runs again and again, in one process at a time. Each run must be harmless to repeat. */
export interface PeriodicTask {
  readonly name: string;
  readonly everyMs: number;
  run(signal: AbortSignal): Promise<void>;
}

export class PeriodicTasks {
  readonly #locks: TaskLocks;
  readonly #log: Logger;
  readonly #tasks: readonly PeriodicTask[];
  readonly #stopping = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #running = new Set<Promise<void>>();

  constructor(tasks: readonly PeriodicTask[], locks: TaskLocks, log: Logger) {
    this.#tasks = tasks;
    this.#locks = locks;
    this.#log = log;
  }

  start(): void {
    for (const task of this.#tasks) this.#timers.add(setInterval(() => this.#tick(task), task.everyMs));
  }

  /** One run of a task at once, waited for: what a test does instead of waiting for the time. */
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
    await Promise.allSettled(this.#running);
  }

  #tick(task: PeriodicTask): void {
    const run = this.#runAlone(task)
      .then(() => undefined)
      .catch((error: unknown) =>
        this.#log.warn({ err: error, task: task.name }, 'a periodic task failed; it will run again'),
      );
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
  }

  /** Other processes of the scheduler role skip their turn while one holds the task's lock. */
  #runAlone(task: PeriodicTask): Promise<boolean> {
    return this.#locks.runAlone(task.name, this.#stopping.signal, (signal) => task.run(signal));
  }
}
