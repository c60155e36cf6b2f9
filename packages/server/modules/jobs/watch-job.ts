import { minuteMs, secondMs } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { Problem } from '../../platform/problem.ts';
import { Superseded } from './job-ending.ts';

const checkEveryMs = secondMs;
/** Work without a heartbeat for this long is ended: what it waits for will not come. */
export const stallAfterMs = 30 * minuteMs;

export interface WatchOptions {
  log: Logger;
  /** Ids of the record for the log. */
  record: Record<string, unknown>;
  /** Saves progress, and returns the reason when the work has to stop. */
  check?: () => Promise<Error | undefined>;
  /** Ends the work when it had no heartbeat for this long. Absent for work that has its own deadline. */
  stallAfterMs?: number;
}

/**
 * Watches running work once a second: saves its progress, and notices when it is no longer wanted or has stalled. The
 * reason of the signal says why the work has to stop.
 */
export class JobWatch {
  readonly #options: WatchOptions;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #checking: Promise<void> | undefined;
  #lastBeatMs = performance.now();

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#checking ??= this.#check().finally(() => {
        this.#checking = undefined;
      });
    }, checkEveryMs);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** A heartbeat: something was read, written or answered. */
  beat(): void {
    this.#lastBeatMs = performance.now();
  }

  stop(reason: Error): void {
    this.#stop.abort(reason);
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
  }

  async #check(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (performance.now() - this.#lastBeatMs > (this.#options.stallAfterMs ?? Number.POSITIVE_INFINITY)) {
      this.stop(stalled());
      return;
    }
    try {
      const reason = await this.#options.check?.();
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
