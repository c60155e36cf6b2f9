/** Controls how fast to write: a limit that ramps up as Firestore asks, and less of everything while it pushes back. */

import type { WritePace } from '../../../ports/index.ts';
import { minuteMs } from '../../../time/durations.ts';
import { RateLimiter } from '../rate-limiter.ts';

const rampStartPerSecond = 500;
const rampFactor = 1.5;
const rampStepMs = 5 * minuteMs;
const rateMinPerSecond = 50;
const inFlightMax = 16;
const bytesInFlightMax = 40 * 1024 * 1024;
const backOff = 0.6;
/** Many requests are pushed back at the same time; together they count once. */
const backOffIntervalMs = 250;

/** How long this many writes take under the ramp-up, if the database can take `perSecondMax`. */
export function rampedSeconds(writes: number, perSecondMax: number): number {
  const stepSeconds = rampStepMs / 1000;
  let left = writes;
  for (let step = 0; ; step++) {
    const perSecond = Math.min(perSecondMax, rampStartPerSecond * rampFactor ** step);
    if (perSecond === perSecondMax || left <= perSecond * stepSeconds) return step * stepSeconds + left / perSecond;
    left -= perSecond * stepSeconds;
  }
}

export class Governor {
  readonly #now: () => number;
  readonly #pace: () => WritePace;
  readonly #limiter: RateLimiter | undefined;
  #inFlight = 0;
  #bytesInFlight = 0;
  #inFlightLimit = inFlightMax;
  #successes = 0;
  #accepted = 0;
  #share = 1;
  #backedOffMs = Number.NEGATIVE_INFINITY;
  readonly #waiting: (() => void)[] = [];

  constructor(rampUp: boolean, now: () => number = () => performance.now(), pace?: () => WritePace) {
    this.#now = now;
    const startedMs = now();
    this.#pace = pace ?? (() => ({ elapsedMs: now() - startedMs, share: 1 }));
    this.#limiter = rampUp ? new RateLimiter(rampStartPerSecond, now) : undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** How many requests the database has accepted, at least in part. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Writes per second at this moment; infinite without ramp-up. */
  get ratePerSecond(): number {
    if (this.#limiter === undefined) return Number.POSITIVE_INFINITY;
    const { elapsedMs, share } = this.#pace();
    const ceiling = rampStartPerSecond * rampFactor ** Math.floor(elapsedMs / rampStepMs) * share;
    return Math.max(Math.min(rateMinPerSecond, ceiling), ceiling * this.#share);
  }

  /** With a rate limit, requests are small, so that writes are spread over the second. */
  get writesPerRequestMax(): number {
    return Math.max(20, Math.min(500, Math.floor(this.ratePerSecond / 10)));
  }

  /** Waits until another request may begin. */
  async enter(writes: number, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    while (
      this.#inFlight >= this.#inFlightLimit ||
      (this.#inFlight > 0 && this.#bytesInFlight + bytes > bytesInFlightMax)
    ) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#inFlight += 1;
    this.#bytesInFlight += bytes;
    try {
      await this.takeRate(writes, signal);
    } catch (error) {
      this.leave(bytes);
      throw error;
    }
  }

  async takeRate(writes: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#limiter === undefined) return;
    this.#limiter.perSecond = this.ratePerSecond;
    await this.#limiter.take(writes, signal);
  }

  leave(bytes: number): void {
    this.#inFlight -= 1;
    this.#bytesInFlight -= bytes;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when all requests that are now in progress have ended. */
  async drained(): Promise<void> {
    while (this.#inFlight > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  pushedBack(): void {
    const nowMs = this.#now();
    if (nowMs - this.#backedOffMs < backOffIntervalMs) return;
    this.#backedOffMs = nowMs;
    this.#successes = 0;
    this.#share = Math.max(0.05, this.#share * backOff);
    this.#inFlightLimit = Math.max(1, Math.floor(this.#inFlightLimit * backOff));
  }

  succeeded(): void {
    this.#accepted += 1;
    this.#successes += 1;
    if (this.#successes < this.#inFlightLimit) return;
    this.#successes = 0;
    this.#inFlightLimit = Math.min(inFlightMax, this.#inFlightLimit + 1);
    this.#share = Math.min(1, this.#share * 1.05);
  }
}
