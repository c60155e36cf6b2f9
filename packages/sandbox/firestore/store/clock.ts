import type { Micros } from '../values/timestamp.ts';

/** The sandbox's only source of time, injectable so that tests can cross an hour or a week in a moment. */
export interface Clock {
  nowMicros(): Micros;
}

export const systemClock: Clock = {
  nowMicros: () => Math.floor((performance.timeOrigin + performance.now()) * 1000),
};
