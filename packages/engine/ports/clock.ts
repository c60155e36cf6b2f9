import { type Instant, instantFromDate } from './instant.ts';

/** The one place of the engine that asks what time it is; tests bring their own. */
export interface Clock {
  now(): Instant;
}

export const systemClock: Clock = { now: () => instantFromDate(new Date()) };
