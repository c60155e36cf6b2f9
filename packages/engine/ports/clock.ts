import { type Instant, instantFromDate } from './instant.ts';

/** The only place in the engine that reads the time; tests bring their own clock. */
export interface Clock {
  now(): Instant;
}

export const systemClock: Clock = { now: () => instantFromDate(new Date()) };
