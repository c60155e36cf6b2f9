/** At most this many at once per name; the others wait in order. */
export class NamedSemaphore {
  readonly #max: number;
  readonly #taken = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(max: number) {
    this.#max = max;
  }

  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    await this.#take(name);
    try {
      return await work();
    } finally {
      this.#give(name);
    }
  }

  #take(name: string): Promise<void> | undefined {
    const taken = this.#taken.get(name) ?? 0;
    if (taken < this.#max) {
      this.#taken.set(name, taken + 1);
      return undefined;
    }
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(name);
      if (waiting) waiting.push(resolve);
      else this.#waiting.set(name, [resolve]);
    });
  }

  /** A place is passed on instead of freed, so that nobody can take it in between. */
  #give(name: string): void {
    const waiting = this.#waiting.get(name);
    const next = waiting?.shift();
    if (waiting?.length === 0) this.#waiting.delete(name);
    const left = (this.#taken.get(name) ?? 1) - 1;
    if (next) next();
    else if (left > 0) this.#taken.set(name, left);
    else this.#taken.delete(name);
  }
}
