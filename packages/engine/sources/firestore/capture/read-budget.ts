/** What scans and repeated listening may read within an hour. Every try is billed, so a loop of them must end. */

import { hourMs } from '../../../time/durations.ts';
import { pause } from '../retry.ts';

const lookAgainMs = 10_000;

export class ReadBudget {
  readonly #readsMax: number;
  #spent: { readonly atMs: number; readonly reads: number }[] = [];

  constructor(readsMax: number) {
    this.#readsMax = readsMax;
  }

  note(reads: number): void {
    if (reads > 0) this.#spent.push({ atMs: performance.now(), reads });
  }

  get isSpent(): boolean {
    return this.#spentReads() >= this.#readsMax;
  }

  /** Waits while the hour's budget is spent. One piece of work may exceed what is left: half of it would be of no use. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    while (this.isSpent) await pause(lookAgainMs, signal);
  }

  #spentReads(): number {
    const since = performance.now() - hourMs;
    this.#spent = this.#spent.filter(({ atMs }) => atMs > since);
    return this.#spent.reduce((sum, { reads }) => sum + reads, 0);
  }
}
