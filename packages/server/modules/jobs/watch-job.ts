import { minuteMs, secondMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { Problem } from '../../platform/problem.ts';
import { Superseded } from './job-ending.ts';

const lookEveryMs = secondMs;
/** Work that shows no sign of life for this long is ended; whatever it waits for will not come. */
export const stallAfterMs = 30 * minuteMs;

export interface WatchOptions {
  log: Logger;
  /** Names of the record, for the log. */
  record: Record<string, unknown>;
  /** Reports progress, and answers with the reason when the work is to stop. */
  look?: () => Promise<Error | undefined>;
  /** Ends the work when it gave no sign of life for so long. Left out by work that has a deadline of its own. */
  stallAfterMs?: number;
}

/**
 * Looks after running work once a second: reports how far it is, notices that it is no longer wanted, and that it has
 * stalled. The signal tells the work why it has to stop.
 */
export class JobWatch {
  readonly #options: WatchOptions;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #lastBeatMs = performance.now();

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    }, lookEveryMs);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** A sign of life: something was read, written or answered. */
  beat(): void {
    this.#lastBeatMs = performance.now();
  }

  stop(reason: Error): void {
    this.#stop.abort(reason);
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (performance.now() - this.#lastBeatMs > (this.#options.stallAfterMs ?? Number.POSITIVE_INFINITY)) {
      this.stop(stalled());
      return;
    }
    try {
      const reason = await this.#options.look?.();
      if (reason) this.stop(reason);
    } catch (error) {
      if (error instanceof Superseded) this.stop(error);
      else this.#options.log.debug({ err: error, ...this.#options.record }, 'progress could not be reported');
    }
  }
}

function stalled(): Problem {
  return new Problem(
    'STORAGE_UNAVAILABLE',
    'Nothing moved for half an hour; the job was ended so that others can run.',
  );
}
