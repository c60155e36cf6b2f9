import type { Logger } from './log.ts';

export interface ClaimedJob {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly data: object;
  /** Why the previous attempt ended, as the queue saved it. */
  readonly before?: unknown;
}

interface Running {
  readonly fields: Record<string, unknown>;
  readonly startedAtMs: number;
}

/** Logs every job that begins here, continues here after another worker, ends, or is handed back. */
export class JobLog {
  readonly #log: Logger;
  readonly #running = new Map<string, Running>();
  #isStopping = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  began(job: ClaimedJob): void {
    const fields = { job: job.name, attempt: job.attempt, ...namesIn(job.data) };
    this.#running.set(job.id, { fields, startedAtMs: performance.now() });
    if (job.attempt === 1) this.#log.info(fields, 'a job begins');
    else this.#log.info({ ...fields, before: messageOf(job.before) }, 'a job is taken over');
  }

  ended(id: string): void {
    this.#tell(id, 'a job ended');
  }

  /** `isLast`: nobody tries again. */
  failed(id: string, isLast: boolean): void {
    if (this.#isStopping) this.#tell(id, 'a job was handed back');
    else this.#tell(id, isLast ? 'a job was given up' : 'a job will be tried again');
  }

  stopping(): void {
    this.#isStopping = true;
  }

  /** For a job that did not stop in time: the queue gives it to another worker. */
  stopped(): void {
    for (const id of [...this.#running.keys()]) this.#tell(id, 'a job was handed back');
  }

  #tell(id: string, sentence: string): void {
    const running = this.#running.get(id);
    if (running === undefined || !this.#running.delete(id)) return;
    const durationMs = Math.round(performance.now() - running.startedAtMs);
    this.#log.info({ ...running.fields, durationMs }, sentence);
  }
}

/** The ids a job is about. Its other data may be secret or long. */
function namesIn(data: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).filter(([name]) => name.endsWith('Id') || name === 'range'));
}

function messageOf(output: unknown): string {
  const { message, value } = (output ?? {}) as { message?: unknown; value?: { message?: unknown } | string };
  const text = message ?? (typeof value === 'string' ? value : value?.message);
  return typeof text === 'string' ? text : 'unknown';
}
