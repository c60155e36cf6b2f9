/**
 * The reads that scans and repeated listening may spend within an hour. Every attempt is billed, so repetitions must be
 * limited.
 */

import type { SpentReads } from '../../../ports/change-capture.ts';
import { hourMs } from '../../../time/durations.ts';
import { pause } from '../retry.ts';

const lookAgainMs = 10_000;

export class ReadBudget {
  readonly #readsMax: number;
  readonly #onSpent: (spent: SpentReads) => void;
  #spent: SpentReads[];

  /** `spent` is what earlier captures of the same database have read. */
  constructor(readsMax: number, spent: readonly SpentReads[] = [], onSpent: (spent: SpentReads) => void = () => {}) {
    this.#readsMax = readsMax;
    this.#spent = [...spent];
    this.#onSpent = onSpent;
  }

  note(reads: number): void {
    if (reads <= 0) return;
    const spent = { at: new Date().toISOString(), reads };
    this.#spent.push(spent);
    this.#onSpent(spent);
  }

  get isSpent(): boolean {
    return this.#spentReads() >= this.#readsMax;
  }

  /**
   * Waits while the hourly budget is spent. A single step may exceed what is left, because half of it would be useless.
   */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    while (this.isSpent) await pause(lookAgainMs, signal);
  }

  #spentReads(): number {
    const since = new Date(Date.now() - hourMs).toISOString();
    this.#spent = this.#spent.filter(({ at }) => at > since);
    return this.#spent.reduce((sum, { reads }) => sum + reads, 0);
  }
}
