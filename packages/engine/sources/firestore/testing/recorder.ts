import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { type CaptureOptions, type ChangeBatch, type Instant, wholeDatabase } from '../../../ports/index.ts';
import type { ConnectedFirestore } from '../connect.ts';
import { storedIn } from './firestore-harness.ts';

/** A capture running beside the test, everything it has said so far, and ways to wait for it. */
export class Recorder {
  readonly batches: ChangeBatch[] = [];
  readonly #controller = new AbortController();
  readonly #done: Promise<void>;
  error: unknown;

  constructor(connected: ConnectedFirestore, from: Instant, more: Partial<CaptureOptions> = {}) {
    const options: CaptureOptions = {
      from,
      scope: wholeDatabase,
      batchIntervalMs: 30,
      signal: this.#controller.signal,
      ...more,
    };
    this.#done = (async () => {
      for await (const batch of connected.capture.capture(options)) this.batches.push(batch);
    })().catch((error: unknown) => {
      this.error = error;
    });
  }

  changes(): string[] {
    const batches = this.batches.flatMap((batch) => (batch.records === null ? [] : [batch.records]));
    return storedIn(batches).map(({ kind, path }) => `${kind === 1 ? 'put' : 'delete'} ${path}`);
  }

  async until(condition: () => boolean): Promise<void> {
    for (let waitedMs = 0; !condition(); waitedMs += 10) {
      if (waitedMs > 25_000)
        throw new Error(`waited in vain; heard: ${this.changes().slice(-5).join(', ')}; ${String(this.error)}`);
      await sleep(10);
    }
  }

  covers(instant: Instant): boolean {
    return (this.batches.at(-1)?.coveredThrough ?? '') >= instant;
  }

  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#done;
  }

  /** When it has come to an end by itself. */
  async ended(): Promise<void> {
    await this.#done;
  }

  /** Every stretch begins where the one before it ended. */
  expectJoined(from: Instant): void {
    let end = from;
    for (const batch of this.batches) {
      expect(batch.coveredFrom).toBe(end);
      expect(batch.coveredThrough > batch.coveredFrom).toBe(true);
      end = batch.coveredThrough;
    }
  }

  get gaps() {
    return this.batches.flatMap((batch) => (batch.gap === undefined || batch.gap.isBrief ? [] : [batch.gap]));
  }
}
