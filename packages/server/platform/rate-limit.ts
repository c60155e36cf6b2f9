import type { Clock } from './clock.ts';
import { minuteMs } from './durations.ts';

export interface RateLimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetSeconds: number;
}

/** Counts calls per key in windows of one minute. */
export interface RateLimiter {
  take(key: string, limit: number): Promise<RateLimitState> | RateLimitState;
}

export const windowMs = minuteMs;
const keysMax = 100_000;

/** For one process. Limited: with too many keys, those with an expired window are dropped, then the oldest. */
export class MemoryRateLimiter implements RateLimiter {
  readonly #windows = new Map<string, { count: number; endsAtMs: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(key: string, limit: number): RateLimitState {
    const nowMs = this.#clock.now().getTime();
    let window = this.#windows.get(key);
    if (!window || window.endsAtMs <= nowMs) {
      if (this.#windows.size >= keysMax) this.#evict(nowMs);
      this.#windows.delete(key);
      window = { count: 0, endsAtMs: nowMs + windowMs };
      this.#windows.set(key, window);
    }
    window.count++;
    return rateLimitState(window.count, limit, window.endsAtMs - nowMs);
  }

  #evict(nowMs: number): void {
    for (const [key, window] of this.#windows) if (window.endsAtMs <= nowMs) this.#windows.delete(key);
    for (const key of this.#windows.keys()) {
      if (this.#windows.size < keysMax * 0.9) break;
      this.#windows.delete(key);
    }
  }
}

export function rateLimitState(count: number, limit: number, resetMs: number): RateLimitState {
  return {
    allowed: count <= limit,
    limit,
    remaining: Math.max(0, limit - count),
    resetSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
  };
}
