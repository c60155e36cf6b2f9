/** The only place that reads the machine's clock; all other code gets a Clock, so that tests can move time. */
export interface Clock {
  now(): Date;
  /** How far a test has moved time for everybody, so that other clocks are corrected by the same amount. */
  readonly worldMs?: number;
}

export const systemClock: Clock = { now: () => new Date() };

/** The real time plus an adjustable offset: time passes by itself and can also be moved forward. */
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

  /** Makes only this clock wrong by this much. */
  goWrong(milliseconds: number): void {
    this.#wrongMs = milliseconds;
  }
}
