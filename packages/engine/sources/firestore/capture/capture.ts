/** Captures changes with Listen, one target per collection group, and yields them in consecutive stretches of time. */

import type { CaptureOptions, ChangeBatch, ChangeCapture, Instant, ReadOptions } from '../../../ports/index.ts';
import { minuteMs } from '../../../time/durations.ts';
import { sourceFailure } from '../failures.ts';
import { pause, throwIfAborted } from '../retry.ts';
import type { FirestoreSource } from '../source.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import { type CaptureParts, captureDefaults } from './capture-parts.ts';
import { CoveredTime } from './covered-time.ts';
import { CollectionGroups } from './groups.ts';
import { GroupDropped } from './listen-stream.ts';
import { needsCatchUp } from './listening.ts';
import { ListeningRun } from './listening-run.ts';
import { ReadBudget } from './read-budget.ts';
import { scanEverything } from './scan-everything.ts';

const targetsPerStreamMax = 100;
/** Google's servers send a message within a minute by themselves, so a database without changes costs no reads. */
const defaultAskAfterMs = 75_000;
const reasonLengthMax = 200;
/** With more catch-ups in a row without a snapshot, something else is wrong. */
const catchUpsMax = 3;
/**
 * After this many streams that ended before anything was complete, a scan is used instead, less often each time. Only
 * once the time since is a gap anyway.
 */
const cutsMax = 4;
const scanPauseMsMin = 10_000;
const scanPauseMsMax = 10 * minuteMs;

export interface CaptureSettings {
  /** How often it is proved, while something changes, that no collection is unknown; by default once per batch. */
  readonly proofIntervalMs?: number;
  /** A stream that is silent this long is asked up to which time everything was sent, which costs a read. */
  readonly askAfterMs?: number;
}

export class FirestoreCapture implements ChangeCapture {
  readonly #source: FirestoreSource;
  readonly #settings: CaptureSettings;

  constructor(source: FirestoreSource, settings: CaptureSettings = {}) {
    this.#source = source;
    this.#settings = settings;
  }

  capture(options: CaptureOptions): AsyncIterable<ChangeBatch> {
    return new CaptureRun(this.#source, this.#settings, options).run();
  }
}

class CaptureRun {
  readonly #parts: CaptureParts;
  /** Groups that a server dropped before they had caught up; they are scanned instead. */
  readonly #dropped = new Set<string>();
  readonly #askAfterMs: number;
  #targetsPerStream = targetsPerStreamMax;
  #catchUpsInARow = 0;
  /** Attempts in a row that listened and yielded nothing. */
  #cutsInARow = 0;
  /** When the last streams were lost; undefined if nobody listened yet, or if they may have been dead for longer. */
  #blindSinceMs: number | undefined;
  #progressedMs = performance.now();
  #scanPauseMs = 0;
  #scanAgainMs = 0;

  constructor(source: FirestoreSource, settings: CaptureSettings, given: CaptureOptions) {
    const options = { ...captureDefaults, ...given };
    this.#askAfterMs = settings.askAfterMs ?? defaultAskAfterMs;
    const proofIntervalMs = settings.proofIntervalMs ?? options.batchIntervalMs;
    const groups = new CollectionGroups(source.client, options.scope, proofIntervalMs);
    const covered = new CoveredTime(options, groups);
    const budget = new ReadBudget(options.readsPerHourMax, options.spentReads, options.onSpent);
    this.#parts = { source, options, groups, covered, budget };
  }

  async *run(): AsyncGenerator<ChangeBatch, void> {
    const { source, options, groups } = this.#parts;
    const { signal } = options;
    const retrier = source.client.retrier(signal);
    let ready = false;
    for (;;) {
      try {
        throwIfAborted(signal);
        if (options.ending?.aborted) return;
        if (!ready) await groups.initialise(options, this.#reads(await source.snapshotTime(this.#call)));
        ready = true;
        for await (const batch of groups.ids.length === 0 ? this.#wait() : this.#listen()) {
          retrier.progress();
          this.#catchUpsInARow = 0;
          this.#scanPauseMs = 0;
          this.#progress();
          yield batch;
        }
      } catch (error) {
        if (signal?.aborted) throwIfAborted(signal);
        const failure = this.#mustScan(error) ? yield* this.#scan(error) : error;
        // A scan replaces broken streams but does not repair them: if they do not come back, that is reported.
        if (failure === undefined && needsCatchUp(error)) retrier.progress();
        if (failure !== undefined) {
          this.#learnFrom(failure);
          await retrier.afterFailure(failure).catch((final: unknown) => {
            throw sourceFailure(final);
          });
        }
      }
    }
  }

  #mustScan(error: unknown): boolean {
    if (needsCatchUp(error)) return this.#catchUpsInARow < catchUpsMax;
    const { exactWithinMs } = this.#parts.options;
    const now = performance.now();
    return this.#cutsInARow >= cutsMax && now >= this.#scanAgainMs && now - this.#progressedMs > exactWithinMs;
  }

  #progress(): void {
    this.#cutsInARow = 0;
    this.#progressedMs = performance.now();
  }

  /** Returns the error of the scan, if any. */
  async *#scan(error: unknown): AsyncGenerator<ChangeBatch, unknown> {
    this.#catchUpsInARow += 1;
    this.#scanPauseMs = Math.min(scanPauseMsMax, Math.max(scanPauseMsMin, 2 * this.#scanPauseMs));
    this.#scanAgainMs = performance.now() + this.#scanPauseMs;
    try {
      yield* scanEverything(this.#parts, reasonOf(error));
      this.#dropped.clear();
      this.#progress();
      return undefined;
    } catch (failure) {
      throwIfAborted(this.#parts.options.signal);
      return failure;
    }
  }

  get #call(): { signal?: AbortSignal } {
    const { signal } = this.#parts.options;
    return signal === undefined ? {} : { signal };
  }

  #reads(readTime: Instant): ReadOptions {
    return { readTime, ...this.#call };
  }

  /** There is nothing to listen to: time advances until the first collection appears. */
  async *#wait(): AsyncGenerator<ChangeBatch, void> {
    const { source, options, groups, covered } = this.#parts;
    while (groups.ids.length === 0 && !options.ending?.aborted) {
      await pause(options.batchIntervalMs, options.signal);
      const now = await source.snapshotTime(this.#call);
      const found = await groups.findNew([], covered.through, this.#reads(now));
      covered.addGroups(groups, found);
      if (found.length === 0 && now > covered.through) yield covered.stretch([], now, [now]);
    }
  }

  async *#listen(): AsyncGenerator<ChangeBatch, void> {
    const run = new ListeningRun(this.#parts, {
      targetsPerStream: this.#targetsPerStream,
      askAfterMs: this.#askAfterMs,
      dropped: this.#dropped,
      blindSinceMs: this.#blindSinceMs,
    });
    let hasHeard = false;
    try {
      for await (const batch of run.batches()) {
        hasHeard = true;
        yield batch;
      }
    } catch (error) {
      if (run.isListening) this.#cutsInARow += 1;
      if (hasHeard) this.#blindSinceMs = isOpenlyCut(error) ? performance.now() : undefined;
      throw error;
    } finally {
      run.close();
    }
  }

  #learnFrom(error: unknown): void {
    if (error instanceof GroupDropped) this.#dropped.add(error.group);
    const isBufferFull = error instanceof GrpcError && error.code === grpcCode.RESOURCE_EXHAUSTED;
    if (isBufferFull) this.#targetsPerStream = Math.max(1, Math.ceil(this.#targetsPerStream / 2));
  }
}

/**
 * The other side ended the stream or its connection, so it was listening until then. A stream that fell silent may have
 * been dead before.
 */
function isOpenlyCut(error: unknown): boolean {
  if (!(error instanceof GrpcError) || error.code === grpcCode.DEADLINE_EXCEEDED) return false;
  return !/silent|ETIMEDOUT|UNREACH/.test(error.message);
}

/** As one line, whatever a server or proxy says. */
function reasonOf(error: unknown): string {
  const said = (error instanceof Error ? error.message : String(error)).replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const brief = said.length > reasonLengthMax ? `${said.slice(0, reasonLengthMax)}…` : said;
  return `Listening could not go on: ${brief.replace(/\.$/, '')}.`;
}
