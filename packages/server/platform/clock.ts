/** The only place that reads the machine's clock; everything else is handed a Clock so that tests can move time. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** A clock that stands still until it is told to move. */
export class ManualClock implements Clock {
  #nowMs: number;

  constructor(start: Date | string = '2026-01-01T00:00:00.000Z') {
    this.#nowMs = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#nowMs);
  }

  advance(milliseconds: number): void {
    this.#nowMs += milliseconds;
  }
}

/** The real time shifted by an adjustable offset: time passes by itself and can be pushed forward as well. */
export class OffsetClock implements Clock {
  #offsetMs = 0;

  now(): Date {
    return new Date(Date.now() + this.#offsetMs);
  }

  advance(milliseconds: number): void {
    this.#offsetMs += milliseconds;
  }
}
