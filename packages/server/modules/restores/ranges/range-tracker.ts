import { setTimeout as sleep } from 'node:timers/promises';
import type { PathRange, WritePace } from '@holdfast/engine';
import { secondMs } from '../../../platform/durations.ts';
import type { StoredError } from '../../job-error.ts';
import { Superseded } from '../../jobs/index.ts';
import type { ProjectRow } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { type NewPages, noPages } from '../journal/journal-store.ts';
import type { RestoreRow } from '../restore-store.ts';
import { type Progress, superseded, WriteTracker } from '../run/write-tracker.ts';
import { type RangeRow, rangeStore, type SharedPace } from './range-store.ts';

export interface ClaimedRange {
  restore: RestoreRow;
  target: ProjectRow;
  range: RangeRow;
  /** An earlier writer may have written more than it saved. */
  isContinued: boolean;
  pace: SharedPace;
}

/** Writers learn every second how many of them share the rate. A new writer waits until the others know of it. */
const knownAfterMs = 1.5 * secondMs;

type Change = Parameters<typeof rangeStore.save>[2];

/** Saves the progress of one claim of a range. Every save fails once another worker has the range or the restore. */
export class RangeTracker extends WriteTracker<string | null> {
  readonly #context: RestoresContext;
  readonly #claimed: ClaimedRange;
  readonly #lost = new AbortController();
  #range: RangeRow;
  #pace: SharedPace;
  #pacedAtMs = performance.now();

  constructor(context: RestoresContext, claimed: ClaimedRange) {
    const { range, isContinued, pace } = claimed;
    super(context, { written: range.written, place: range.reached, isContinued });
    this.#context = context;
    this.#claimed = claimed;
    this.#range = range;
    this.#pace = pace;
  }

  /** As it was when the range was claimed. */
  get row(): RestoreRow {
    return this.#claimed.restore;
  }

  get target(): ProjectRow {
    return this.#claimed.target;
  }

  get range(): RangeRow {
    return this.#range;
  }

  get paths(): PathRange {
    return { start: this.#range.startPath, end: this.#range.endPath };
  }

  /** Aborted when another worker has the range or the restore, or when the restore has ended. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The ramp-up began with the first range, and all writers share its rate. */
  readonly pace = (): WritePace => ({
    elapsedMs: this.#pace.elapsedMs + performance.now() - this.#pacedAtMs,
    share: 1 / Math.max(1, this.#pace.held),
  });

  async waitUntilOthersKnow(signal: AbortSignal): Promise<void> {
    if (this.#pace.held > 1) await sleep(knownAfterMs, undefined, { signal });
  }

  /** Called every second: saves a sign of life and the progress. Returns the reason when the work has to stop. */
  async check(waitingFor: string | null | undefined): Promise<Error | undefined> {
    const { reached } = this.#range;
    try {
      await this.flush();
      const next = waitingFor === undefined && this.#range.reached !== reached ? null : waitingFor;
      if (next !== undefined && next !== this.#range.waitingFor) await this.#save({ waitingFor: next });
      return undefined;
    } catch (error) {
      if (error instanceof Superseded) return error;
      throw error;
    }
  }

  /** Called when the range is written, or when it was stopped and its requests have ended. */
  async finish(): Promise<void> {
    const isComplete = !this.cancelled.aborted;
    await this.#save({ isComplete, isHeld: false, isHeard: isComplete || !this.isContinued, waitingFor: null });
  }

  async countFailure(): Promise<number> {
    const failures = this.#range.failures + 1;
    await this.flush().catch(() => undefined);
    await this.#save({ failures });
    return failures;
  }

  /** The range has failed for good; the holder ends the restore with this error. */
  async fail(error: StoredError): Promise<void> {
    if (!this.cancelled.aborted) await this.#save({ error, isHeld: false, isHeard: this.isHeard });
  }

  /** Lets another worker continue the range. */
  async release(): Promise<void> {
    if (!this.#range.isHeld || this.#lost.signal.aborted) return;
    const { database } = this.#context.platform;
    await database.tenant(this.#range.organizationId, (transaction) =>
      rangeStore.release(transaction, this.#range, this.isHeard),
    );
  }

  override async persist(progress: Progress<string | null> | undefined, pages: NewPages): Promise<void> {
    await this.#save(progress ? { written: progress.written, reached: progress.place } : {}, pages);
  }

  override borders(reached: string | null): readonly (string | null)[] {
    return [this.#range.startPath, this.#range.endPath, reached];
  }

  async #save(change: Change, pages: NewPages = noPages): Promise<void> {
    const { database, clock } = this.#context.platform;
    const claim = { restore: this.row, range: this.#range };
    const saved = await database.tenant(this.#range.organizationId, (transaction) =>
      rangeStore.save(transaction, claim, change, pages, clock.now()),
    );
    if (!saved) {
      const reason = superseded();
      this.#lost.abort(reason);
      throw reason;
    }
    this.#range = saved.range;
    this.#pace = saved.pace;
    this.#pacedAtMs = performance.now();
    if (saved.restore.cancelRequestedAt !== null || saved.restore.rangesStoppedAt !== null) this.cancel();
  }
}
