/** Firestore as a target: writes records with several requests in progress, and reports progress in order. */

import {
  type ApplyOptions,
  type ApplyResult,
  type DocumentTarget,
  EngineError,
  type GuardedBatch,
  instantToParts,
  isLater,
  type RecordBatch,
  type RecordLocation,
  recordKind,
  type Version,
  type WriteOutcome,
  type WrittenAhead,
} from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { snapshotTime } from '../database-info.ts';
import { targetFailure } from '../failures.ts';
import { forEachRecord } from '../scan/records.ts';
import { emptySlices, sliceDocument } from './document-slices.ts';
import { Governor } from './governor.ts';
import { type ExistingFields, existingFieldsFor, mergeMask } from './merge-masks.ts';
import type { SendContext } from './outcomes.ts';
import { ReferenceRewriter } from './rewrite-references.ts';
import { sendBatch } from './sender.ts';
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
      for await (const batch of batches) {
        if (run.isStopped) break;
        await run.add(batch);
      }
      return await run.finish();
    } catch (error) {
      const isReported = await run.breakOff();
      options.guard?.onBrokenOff?.(isReported);
      if (options.signal?.aborted) throw new EngineError('CANCELLED', 'The work was cancelled.', { cause: error });
      throw targetFailure(error);
    }
  }
}

/** A request in progress or done; their queue keeps the order of the records. */
interface Stretch {
  readonly lastPath: string;
  readonly records: number;
  readonly expected: (Version | null | undefined)[];
  readonly outcomes: WriteOutcome[];
  readonly tally: Tally;
  readonly mayBeRepeated: boolean;
  /** Set once it is sent. */
  context?: SendContext;
  settled: boolean;
}

interface PreparedWrite {
  /** Set when the fields differ from those in the record. */
  readonly content: Buffer | undefined;
  readonly mask?: Buffer;
}

/** How long to wait for answers when the work ends with an error. */
const lastAnswersMs = 10_000;

const newestMsMax = 1000;

class ApplyRun {
  readonly #client: FirestoreClient;
  readonly #options: ApplyOptions;
  readonly #governor: Governor;
  /** Counts what is settled without a gap; a run that continues after it counts the rest. */
  readonly #tally = new Tally();
  readonly #rewriter: ReferenceRewriter | undefined;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #lateness = new AbortController();
  readonly #giveUp: AbortSignal;
  readonly #queue: Stretch[] = [];
  readonly #slices = emptySlices();
  #open: WriteBatch;
  #expected: (Version | null | undefined)[] = [];
  #recordsSent = 0;
  #recordsSettled = 0;
  #fatal: unknown;
  /** The newest change time that the database has reported: later writes get later times. */
  #newest: Version | undefined;
  #askedMs = Number.NEGATIVE_INFINITY;
  #progress: Promise<void> = Promise.resolve();
  /** Reporting the outcomes of records has failed. */
  #isUntold = false;

  constructor(client: FirestoreClient, options: ApplyOptions) {
    this.#client = client;
    this.#options = options;
    this.#governor = new Governor(options.rampUp, undefined, options.pace);
    this.#open = new WriteBatch(client.database);
    const { signal, rewriteReferencesFrom } = options;
    const outside = signal === undefined ? [] : [signal];
    this.#signal = AbortSignal.any([...outside, this.#abort.signal]);
    this.#giveUp = AbortSignal.any([...outside, this.#lateness.signal]);
    if (rewriteReferencesFrom !== undefined && rewriteReferencesFrom !== client.database) {
      this.#rewriter = new ReferenceRewriter(rewriteReferencesFrom, client.database);
    }
  }

  get isStopped(): boolean {
    return this.#options.stop?.aborted === true;
  }

  async add(batch: RecordBatch | GuardedBatch): Promise<void> {
    const existing = await existingFieldsFor(this.#client, batch, this.#options.mode, this.#signal);
    const locations: RecordLocation[] = [];
    const writesMax = this.#governor.writesPerRequestMax;
    const expected = 'expected' in batch ? batch.expected : undefined;
    let bytes: Buffer | undefined;
    forEachRecord(batch, (buffer, location) => {
      bytes = buffer;
      locations.push({ ...location });
    });
    for (const [index, location] of locations.entries()) {
      if (this.isStopped) return;
      sliceDocument(bytes!, location.bodyStart, location.end, this.#slices);
      const write = this.#prepare(bytes!, location, existing);
      const payloadBytes = (location.end - location.bodyStart) * 2 + (write.mask?.length ?? 0);
      const repeated = this.#open.isRepetition(bytes!, this.#slices.pathStart, this.#slices.pathEnd);
      if (repeated || !this.#open.fits(payloadBytes, writesMax)) {
        await this.#dispatch();
        // A later version of the same document may not overtake the earlier one.
        if (repeated) await this.#governor.drained();
      }
      this.#append(bytes!, location, write, expected?.[index]);
    }
  }

  /** Sends the rest and waits for everything. */
  async finish(): Promise<ApplyResult> {
    if (this.#open.count > 0 && !this.isStopped) await this.#dispatch();
    await this.#governor.drained();
    await this.#progress;
    if (this.#fatal !== undefined) throw this.#fatal;
    return { ...this.#tally.counts(), errors: this.#tally.errors };
  }

  /** Sends nothing more and waits for answers. True when the guard was told of everything that was written. */
  async breakOff(): Promise<boolean> {
    this.#abort.abort();
    if (this.#options.signal?.aborted) return false;
    const timer = setTimeout(() => this.#lateness.abort(), lastAnswersMs);
    await this.#governor.drained();
    clearTimeout(timer);
    await this.#progress.catch(() => undefined);
    if (this.#isUntold) return false;
    return this.#queue.every(
      ({ context, outcomes }) => !context?.isUnsure && !outcomes.some(({ result }) => result === 'written'),
    );
  }

  #prepare(bytes: Buffer, { kind }: RecordLocation, existing: ExistingFields): PreparedWrite {
    const { joined, contentStart, contentEnd, pathStart, pathEnd } = this.#slices;
    if (kind === recordKind.delete) return { content: joined };
    const rewritten = joined
      ? this.#rewriter?.rewrite(joined, 0, joined.length)
      : this.#rewriter?.rewrite(bytes, contentStart, contentEnd);
    const content = rewritten ?? joined;
    if (this.#options.mode !== 'merge') return { content };
    const path = bytes.toString('utf8', pathStart, pathEnd);
    const mask = mergeMask(content ?? bytes.subarray(contentStart, contentEnd), existing.get(path));
    return { content, mask };
  }

  #append(
    bytes: Buffer,
    { kind }: RecordLocation,
    { content, mask }: PreparedWrite,
    expectedVersion: Version | null | undefined,
  ): void {
    const expected = this.#options.mode === 'skip_existing' && kind !== recordKind.delete ? null : expectedVersion;
    this.#expected.push(expected);
    this.#open.add(kind, bytes, this.#slices, content, mask === undefined ? { expected } : { expected, mask });
  }

  async #dispatch(): Promise<void> {
    const batch = this.#open;
    const stretch: Stretch = {
      lastPath: batch.path(batch.count - 1),
      records: batch.count,
      expected: this.#expected,
      outcomes: [],
      tally: new Tally(),
      mayBeRepeated: this.#recordsSent < (this.#options.guard?.repeatedRecords ?? 0),
      settled: false,
    };
    this.#open = new WriteBatch(this.#client.database);
    this.#expected = [];
    this.#recordsSent += batch.count;
    this.#queue.push(stretch);
    await this.#hearNewest(batch);
    // A request that failed for good ends the waiting of the others; its error is the reason to report.
    await this.#governor.enter(batch.count, batch.bytes, this.#signal).catch((error: unknown) => {
      throw this.#fatal ?? error;
    });
    if (this.#fatal !== undefined || this.isStopped) {
      this.#governor.leave(batch.bytes);
      if (this.#fatal !== undefined) throw this.#fatal;
      return;
    }
    void this.#send(batch, stretch);
    // A slow checkpoint slows the writing instead of piling up.
    await this.#progress;
  }

  async #send(batch: WriteBatch, stretch: Stretch): Promise<void> {
    const { expected, outcomes, tally } = stretch;
    const mayBeRepeated = stretch.mayBeRepeated || this.#options.isInquiry === true;
    const context: SendContext = {
      client: this.#client,
      governor: this.#governor,
      tally,
      mode: this.#options.mode,
      signal: this.#signal,
      giveUp: this.#giveUp,
      guard: this.#options.guard,
      expected,
      outcomes,
      mayBeRepeated,
      sentAfter: mayBeRepeated ? undefined : this.#newest,
      isUnsure: false,
      isInquiry: this.#options.isInquiry === true,
      looks: new Map(),
      over: new Map(),
      reportAhead: () => this.#reportAhead(),
      onVersion: (version) => this.#noteVersion(version),
    };
    stretch.context = context;
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

  /** Answers to puts contain their times, answers to deletes do not. */
  async #hearNewest({ hasDeletes }: WriteBatch): Promise<void> {
    const { guard, isInquiry } = this.#options;
    const isOld = this.#newest === undefined || (hasDeletes && performance.now() - this.#askedMs > newestMsMax);
    if (guard === undefined || isInquiry === true || !isOld) return;
    this.#askedMs = performance.now();
    const now = await this.#now();
    // When read times are whole minutes, answers have reported newer ones.
    if (now !== undefined) this.#noteVersion(now);
  }

  #noteVersion(version: Version): void {
    if (this.#newest === undefined || isLater(version, this.#newest)) this.#newest = version;
  }

  /**
   * Without it, the beginning of the whole work is used. If reading it fails, the first request will report the cause.
   */
  async #now(): Promise<Version | undefined> {
    const reading = snapshotTime(this.#client, { signal: this.#signal });
    return await reading.then(instantToParts, () => this.#newest ?? this.#options.guard?.began);
  }

  /** Reports the part at the front of the queue that is settled without a gap. */
  #report(): void {
    let settledThrough: string | undefined;
    const outcomes: WriteOutcome[] = [];
    while (this.#queue[0]?.settled) {
      const stretch = this.#queue.shift()!;
      settledThrough = stretch.lastPath;
      this.#recordsSettled += stretch.records;
      outcomes.push(...stretch.outcomes);
      this.#tally.add(stretch.tally);
    }
    const { onProgress, onAhead, guard } = this.#options;
    if (settledThrough === undefined) {
      this.#reportAhead();
      return;
    }
    if (onProgress === undefined && guard === undefined) return;
    const ahead = this.#ahead();
    const progress = { ...this.#tally.counts(), settledThrough, settledRecords: this.#recordsSettled };
    this.#progress = this.#progress
      .then(() => guard?.onSettled(outcomes))
      .then(() => {
        onAhead?.(ahead);
        return onProgress?.(progress);
      })
      .catch((error: unknown) => {
        this.#isUntold = true;
        this.#fatal ??= error;
      });
  }

  /** Reports after the last progress, so that nothing is counted twice or left out. */
  #reportAhead(): void {
    const { onAhead } = this.#options;
    if (onAhead === undefined) return;
    const ahead = this.#ahead();
    this.#progress = this.#progress.then(() => onAhead(ahead));
  }

  #ahead(): WrittenAhead {
    const ahead = new Tally();
    for (const { tally } of this.#queue) ahead.add(tally);
    const { written, deleted, bytes } = ahead;
    return { written, deleted, bytes };
  }
}
