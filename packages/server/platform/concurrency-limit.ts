import { Problem } from './problem.ts';

/** Limits calls that wait for an external machine: one organization has at most `max` open at once, in each process. */
export class ConcurrencyLimit {
  readonly #what: string;
  readonly #max: number;
  readonly #underWay = new Map<string, number>();

  /** `what` is the plural for the error message. */
  constructor(what: string, max: number) {
    this.#what = what;
    this.#max = max;
  }

  async run<T>(organizationId: string, work: () => Promise<T>): Promise<T> {
    const count = this.#underWay.get(organizationId) ?? 0;
    if (count >= this.#max) {
      const message = `This organization has ${count} ${this.#what} under way; wait for one to end.`;
      throw new Problem('RATE_LIMITED', message, { retryAfterSeconds: 1 });
    }
    this.#underWay.set(organizationId, count + 1);
    try {
      return await work();
    } finally {
      const left = (this.#underWay.get(organizationId) ?? 1) - 1;
      if (left > 0) this.#underWay.set(organizationId, left);
      else this.#underWay.delete(organizationId);
    }
  }
}
