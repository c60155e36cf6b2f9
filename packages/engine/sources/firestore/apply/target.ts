/** Firestore as a target: records in, writes out, several requests under way, progress in order. */

import {
  type ApplyOptions,
  type ApplyResult,
  type DocumentTarget,
  EngineError,
  type RecordBatch,
  type RecordLocation,
  recordKind,
} from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { targetFailure } from '../failures.ts';
import { forEachRecord } from '../scan/records.ts';
import { emptySlices, sliceDocument } from './document-slices.ts';
import { Governor } from './governor.ts';
import { type ExistingFields, existingFieldsFor, mergeMask } from './merge-masks.ts';
import { ReferenceRewriter } from './rewrite-references.ts';
import { type SendContext, sendBatch } from './sender.ts';
import { Tally } from './tally.ts';
import { WriteBatch } from './write-batch.ts';

export class FirestoreTarget implements DocumentTarget {
  readonly client: FirestoreClient;

  constructor(client: FirestoreClient) {
    this.client = client;
  }

  get database(): string {
    return this.client.database;
  }

  async apply(batches: AsyncIterable<RecordBatch>, options: ApplyOptions): Promise<ApplyResult> {
    const run = new ApplyRun(this.client, options);
    try {
      for await (const batch of batches) await run.add(batch);
      return await run.finish();
    } catch (error) {
      run.stop();
      if (options.signal?.aborted) throw new EngineError('CANCELLED', 'The work was cancelled.', { cause: error });
      throw targetFailure(error);
    }
  }
}

/** A request under way or done; the queue of them keeps the order of the records. */
interface Stretch {
  readonly lastPath: string;
  settled: boolean;
}

class ApplyRun {
  readonly #client: FirestoreClient;
  readonly #options: ApplyOptions;
  readonly #governor: Governor;
  readonly #tally = new Tally();
  readonly #rewriter: ReferenceRewriter | undefined;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #queue: Stretch[] = [];
  readonly #slices = emptySlices();
  #open: WriteBatch;
  #fatal: unknown;
  #progress: Promise<void> = Promise.resolve();

  constructor(client: FirestoreClient, options: ApplyOptions) {
    this.#client = client;
    this.#options = options;
    this.#governor = new Governor(options.rampUp);
    this.#open = new WriteBatch(client.database);
    const { signal, rewriteReferencesFrom } = options;
    this.#signal = signal === undefined ? this.#abort.signal : AbortSignal.any([signal, this.#abort.signal]);
    if (rewriteReferencesFrom !== undefined && rewriteReferencesFrom !== client.database) {
      this.#rewriter = new ReferenceRewriter(rewriteReferencesFrom, client.database);
    }
  }

  async add(batch: RecordBatch): Promise<void> {
    const existing = await existingFieldsFor(this.#client, batch, this.#options.mode, this.#signal);
    const locations: RecordLocation[] = [];
    const writesMax = this.#governor.writesPerRequestMax;
    let bytes: Buffer | undefined;
    forEachRecord(batch, (buffer, location) => {
      bytes = buffer;
      locations.push({ ...location });
    });
    for (const location of locations) {
      sliceDocument(bytes!, location.bodyStart, location.end, this.#slices);
      const repeated = this.#open.isRepetition(bytes!, this.#slices.pathStart, this.#slices.pathEnd);
      if (repeated || !this.#open.fits((location.end - location.bodyStart) * 2, writesMax)) {
        await this.#dispatch();
        // A later version of the same document may not overtake the earlier one.
        if (repeated) await this.#governor.drained();
      }
      this.#append(bytes!, location, existing);
    }
  }

  /** Sends the rest and waits for everything. */
  async finish(): Promise<ApplyResult> {
    if (this.#open.count > 0) await this.#dispatch();
    await this.#governor.drained();
    await this.#progress;
    if (this.#fatal !== undefined) throw this.#fatal;
    return { ...this.#tally.counts(), errors: this.#tally.errors };
  }

  stop(): void {
    this.#abort.abort();
  }

  #append(bytes: Buffer, location: RecordLocation, existing: ExistingFields): void {
    const { mode } = this.#options;
    const slices = this.#slices;
    let content = slices.joined;
    if (location.kind === recordKind.put && this.#rewriter !== undefined) {
      content =
        content === undefined
          ? this.#rewriter.rewrite(bytes, slices.contentStart, slices.contentEnd)
          : (this.#rewriter.rewrite(content, 0, content.length) ?? content);
    }
    if (mode !== 'merge' || location.kind === recordKind.delete) {
      this.#open.add(location.kind, bytes, slices, content, { mode });
      return;
    }
    const fields = content ?? bytes.subarray(slices.contentStart, slices.contentEnd);
    const path = bytes.toString('utf8', slices.pathStart, slices.pathEnd);
    this.#open.add(location.kind, bytes, slices, content, { mode, mask: mergeMask(fields, existing.get(path)) });
  }

  async #dispatch(): Promise<void> {
    const batch = this.#open;
    this.#open = new WriteBatch(this.#client.database);
    const stretch: Stretch = { lastPath: batch.path(batch.count - 1), settled: false };
    this.#queue.push(stretch);
    // A request that failed for good ends the waiting of the others; what it failed with is the reason to tell.
    await this.#governor.enter(batch.count, batch.bytes, this.#signal).catch((error: unknown) => {
      throw this.#fatal ?? error;
    });
    if (this.#fatal !== undefined) throw this.#fatal;
    void this.#send(batch, stretch);
    // A slow checkpoint slows the writing instead of piling up.
    await this.#progress;
  }

  async #send(batch: WriteBatch, stretch: Stretch): Promise<void> {
    const context: SendContext = {
      client: this.#client,
      governor: this.#governor,
      tally: this.#tally,
      skipExisting: this.#options.mode === 'skip_existing',
      signal: this.#signal,
    };
    try {
      await sendBatch(context, batch);
      stretch.settled = true;
      this.#report();
    } catch (error) {
      this.#fatal ??= error;
      this.#abort.abort();
    } finally {
      this.#governor.leave(batch.bytes);
    }
  }

  /** Tells of the stretch at the front of the queue that is settled without a hole. */
  #report(): void {
    let settledThrough: string | undefined;
    while (this.#queue[0]?.settled) settledThrough = this.#queue.shift()!.lastPath;
    const { onProgress } = this.#options;
    if (settledThrough === undefined || onProgress === undefined) return;
    const progress = { ...this.#tally.counts(), settledThrough };
    this.#progress = this.#progress
      .then(() => onProgress(progress))
      .catch((error: unknown) => {
        this.#fatal ??= error;
      });
  }
}
