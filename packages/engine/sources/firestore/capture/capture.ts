/** Follows a database by Listen, one target per collection group, and hands over what happened in joined stretches of time. */

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
/** Google's servers say a word within a minute by themselves, so that a quiet database costs no reads. */
const defaultAskAfterMs = 75_000;
const reasonLengthMax = 200;
/** Catch-ups in a row without a snapshot in between: something else is wrong. */
const catchUpsMax = 3;
/**
 * Streams that end so often before anything was complete do not get there: a scan does, and less often each time. Not
 * before the time since is a gap anyway.
 */
const cutsMax = 4;
const scanPauseMsMin = 10_000;
const scanPauseMsMax = 10 * minuteMs;

export interface CaptureSettings {
  /** How often, while something changes, it is proved that no collection is unknown; as often as there are batches. */
  readonly proofIntervalMs?: number;
  /** A stream that says nothing for so long is asked up to when everything was sent, which is a read. */
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
  /** Groups that a server dropped before they had caught up: they are scanned instead of asked for again. */
  readonly #dropped = new Set<string>();
  readonly #askAfterMs: number;
  #targetsPerStream = targetsPerStreamMax;
  #catchUpsInARow = 0;
  /** Attempts in a row that listened and handed over nothing. */
  #cutsInARow = 0;
  /** When the last streams were lost; undefined when nobody listened yet, or when they may have been dead for longer. */
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
        // A scan does for streams that do not hold, and does not mend them: whoever asks is told when they do not come back.
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

  /** What went wrong with it, if anything. */
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

  /** Nothing to listen to: time passes, and the first collection is waited for. */
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

/** The other side said so, or its connection ended: until that moment it was listened to. One that fell silent may have been gone before. */
function isOpenlyCut(error: unknown): boolean {
  if (!(error instanceof GrpcError) || error.code === grpcCode.DEADLINE_EXCEEDED) return false;
  return !/silent|ETIMEDOUT|UNREACH/.test(error.message);
}

/** One line, whatever a server or what stands before it says. */
function reasonOf(error: unknown): string {
  const said = (error instanceof Error ? error.message : String(error)).replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const brief = said.length > reasonLengthMax ? `${said.slice(0, reasonLengthMax)}…` : said;
  return `Listening could not go on: ${brief.replace(/\.$/, '')}.`;
}
