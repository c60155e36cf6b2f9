/** The only place that reads the machine's clock; everything else is handed a Clock so that tests can move time. */
export interface Clock {
  now(): Date;
  /** How far a test has moved time for everybody: what other clocks say counts as moved along. */
  readonly worldMs?: number;
}

export const systemClock: Clock = { now: () => new Date() };

/** The real time shifted by an adjustable offset: time passes by itself and can be pushed forward as well. */
export class OffsetClock implements Clock {
  #worldMs = 0;
  #wrongMs = 0;

  now(): Date {
    return new Date(Date.now() + this.#worldMs + this.#wrongMs);
  }

  get worldMs(): number {
    return this.#worldMs;
  }

  advance(milliseconds: number): void {
    this.#worldMs += milliseconds;
  }

  /** From now on this clock is wrong by so much, and no other is. */
  goWrong(milliseconds: number): void {
    this.#wrongMs = milliseconds;
  }
}
