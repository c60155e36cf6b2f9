/** Allows a number per second on average, and never more than one second's worth at once. */

import { pause } from './retry.ts';

export class RateLimiter {
  readonly #now: () => number;
  #perSecond: number;
  /** The time up to which everything that was allowed is accounted for. */
  #paidUntilMs: number;

  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#now = now;
    this.#paidUntilMs = now();
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  set perSecond(value: number) {
    this.#perSecond = value;
  }

  /** Waits until `count` may pass. Those who come later wait behind. */
  async take(count: number, signal?: AbortSignal): Promise<void> {
    const nowMs = this.#now();
    const startMs = Math.max(this.#paidUntilMs, nowMs);
    this.#paidUntilMs = startMs + (count / this.#perSecond) * 1000;
    if (startMs > nowMs) await pause(startMs - nowMs, signal);
  }
}
