/** The only place that reads the machine's clock; everything else is handed a Clock so that tests can move time. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

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
