/** Follows a database by Listen, one target per collection group, and hands over what happened in joined stretches of time. */

import type { CaptureOptions, ChangeBatch, ChangeCapture, Instant, ReadOptions } from '../../../ports/index.ts';
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
/** Catch-ups in a row without a snapshot in between: something else is wrong. */
const catchUpsMax = 3;

export interface CaptureSettings {
  /** How often, while something changes, it is proved that no collection is unknown; as often as there are batches. */
  readonly proofIntervalMs?: number;
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
  #targetsPerStream = targetsPerStreamMax;
  #catchUpsInARow = 0;

  constructor(source: FirestoreSource, settings: CaptureSettings, given: CaptureOptions) {
    const options = { ...captureDefaults, ...given };
    const proofIntervalMs = settings.proofIntervalMs ?? options.batchIntervalMs;
    const groups = new CollectionGroups(source.client, options.scope, proofIntervalMs);
    const covered = new CoveredTime(options, () => groups.ids);
    this.#parts = { source, options, groups, covered, budget: new ReadBudget(options.readsPerHourMax) };
  }

  async *run(): AsyncGenerator<ChangeBatch, void> {
    const { source, options, groups } = this.#parts;
    const { signal } = options;
    const retrier = source.client.retrier(signal);
    let ready = false;
    for (;;) {
      try {
        throwIfAborted(signal);
        if (!ready) await groups.initialise(options, this.#reads(await source.snapshotTime(this.#call)));
        ready = true;
        for await (const batch of groups.ids.length === 0 ? this.#wait() : this.#listen()) {
          retrier.progress();
          this.#catchUpsInARow = 0;
          yield batch;
        }
      } catch (error) {
        if (signal?.aborted) throwIfAborted(signal);
        if (needsCatchUp(error) && this.#catchUpsInARow < catchUpsMax) {
          this.#catchUpsInARow += 1;
          yield* scanEverything(this.#parts, reasonOf(error));
          this.#dropped.clear();
        } else {
          this.#learnFrom(error);
          await retrier.afterFailure(error).catch((final: unknown) => {
            throw sourceFailure(final);
          });
        }
      }
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
    while (groups.ids.length === 0) {
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
      dropped: this.#dropped,
    });
    try {
      yield* run.batches();
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

function reasonOf(error: unknown): string {
  return `Listening could not go on: ${error instanceof Error ? error.message : String(error)}.`;
}
