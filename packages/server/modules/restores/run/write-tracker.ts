import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApplyCounts,
  type ApplyProgress,
  type ApplyResult,
  EngineError,
  instantToParts,
  type JournalSeal,
  type Mismatch,
  versionOfDocument,
  type WriteGuard,
  type WriteOutcome,
  type WrittenAhead,
} from '@holdfast/engine';
import { secondMs } from '../../../platform/durations.ts';
import { oneLine } from '../../../platform/one-line.ts';
import { Superseded } from '../../jobs/index.ts';
import type { RestoresContext } from '../context.ts';
import { type NewPages, noPages } from '../journal/journal-store.ts';
import { JournalWriter } from '../journal/restore-journal.ts';
import { type SavedDocuments, savedDocuments } from '../journal/saved-documents.ts';
import { CollectionCount } from '../ranges/collection-count.ts';
import { nothingWritten, samplesMax, sumCounts } from '../ranges/written.ts';
import type { RestoreRow } from '../restore-store.ts';
import type { DocumentFailure, Written } from '../tables.ts';

/**
 * Without a saved sign of life for this long, nothing is sent. Saves happen every second, and another worker takes over
 * much later than this.
 */
const sureMs = 5 * secondMs;
/** How long to wait for the database when it is not known whether the work is still ours. Nothing is sent meanwhile. */
const unsureMsMax = 30 * secondMs;
const askAgainMs = 250;
/** Outcomes that may wait to be saved; with more than this, writing waits. */
const pendingMax = 50_000;
/**
 * How many documents a dead run may have written after its last checkpoint: waiting outcomes and requests under way.
 */
export const repeatedRecords = pendingMax + 20_000;

export interface StageStart<Place> {
  /** The checkpoint to save while the stage runs. */
  checkpoint(progress: ApplyProgress): Place;
  /** What becomes of a document that somebody changed. */
  onMismatch: WriteGuard['onMismatch'];
  /** False when no earlier run can have reached this stage. */
  isContinued?: boolean;
  /** The document at a path before the restore. */
  former?: WriteGuard['former'];
  /**
   * True when failed documents are tried again: every outcome replaces the failure. A document may be written already,
   * by an attempt whose answer was lost.
   */
  isRetry?: boolean;
}

export interface StageHooks {
  guard: WriteGuard;
  onProgress(progress: ApplyProgress): Promise<void>;
  onAhead(ahead: WrittenAhead): void;
  stop: AbortSignal;
}

/** Saved in one transaction with the journal pages that belong to it. */
export interface Progress<Place> {
  written: Written;
  place: Place;
}

interface Start<Place> extends Progress<Place> {
  /** An earlier run may have written after this place. */
  isContinued: boolean;
}

/** Follows the writing of documents: counts them, and saves the progress together with the journal. */
export abstract class WriteTracker<Place> {
  readonly #context: RestoresContext;
  readonly #isContinued: boolean;
  readonly #before: ApplyCounts;
  /** Stages of this run that are over. */
  #earlier: ApplyCounts = nothingWritten;
  #current: ApplyCounts = nothingWritten;
  #ahead: WrittenAhead | undefined;
  /** Not yet handed to the journal. */
  #outcomes: WriteOutcome[] = [];
  /** A request was sent since all outcomes were last known. */
  #isSending = false;
  #place: Place;
  #dirty = false;
  #journal: JournalWriter | undefined;
  #saved: Promise<SavedDocuments> | undefined;
  readonly #errors: DocumentFailure[];
  readonly #conflicts: string[];
  #saving: Promise<void> = Promise.resolve();
  /** When the work was last confirmed to be ours, by two clocks: each may stand still while the other goes on. */
  #heldMs = performance.now();
  #heldAtMs: number;
  readonly #stop = new AbortController();
  readonly collections: CollectionCount;

  constructor(context: RestoresContext, { written, place, isContinued }: Start<Place>) {
    this.#context = context;
    this.#heldAtMs = this.#nowMs;
    this.#isContinued = isContinued;
    this.#before = written;
    this.#errors = [...written.errorSample];
    this.#conflicts = [...written.conflictSample];
    this.#place = place;
    this.collections = new CollectionCount(written);
  }

  /** The restore, as it was read last. */
  abstract get row(): RestoreRow;
  /** Saves both in one transaction that checks that the work is still ours; throws Superseded when it is not. */
  abstract persist(progress: Progress<Place> | undefined, pages: NewPages): Promise<void>;
  /** The borders at which another writer or a later run may meet a collection that this one has written to. */
  abstract borders(place: Place): readonly (string | null)[];

  /**
   * Whether an earlier run may have written something that is not in the journal and that this run has not reached yet.
   */
  get isContinued(): boolean {
    return this.#isContinued;
  }

  /** Whether the journal holds everything that was written, by this run and by earlier ones. */
  get isHeard(): boolean {
    const isWrittenDown = this.#outcomes.length === 0 && (this.#journal?.pending ?? 0) === 0;
    return !this.#isContinued && !this.#isSending && isWrittenDown;
  }

  /** Aborted on a cancellation: no further document is sent; requests under way are waited for. */
  get cancelled(): AbortSignal {
    return this.#stop.signal;
  }

  /** Stops the writing, because of a cancellation or because the holder gave up. */
  cancel(): void {
    this.#stop.abort(new EngineError('CANCELLED', 'The restore was cancelled.'));
  }

  async useJournal(seal: JournalSeal): Promise<void> {
    this.#journal = new JournalWriter(seal, (pages) => this.persist(undefined, pages));
  }

  /** The guard and the listener of one stage of writing. */
  stage({
    checkpoint,
    onMismatch,
    isContinued = true,
    former = async () => undefined,
    isRetry = false,
  }: StageStart<Place>): StageHooks {
    const guard: WriteGuard = {
      beforeSend: async () => {
        await this.#requireHeld();
        this.#isSending = true;
      },
      repeatedRecords: isRetry || (this.#isContinued && isContinued) ? repeatedRecords : 0,
      began: this.row.beganAt === null ? undefined : instantToParts(this.row.beganAt),
      former: async (path) => {
        const saved = await this.#savedBefore();
        return saved.has(path) ? saved.bytes(path) : former(path);
      },
      savedVersion: async (path) => (await this.#savedBefore()).version(path),
      onMismatch: async (mismatch) => {
        const decision = await onMismatch(mismatch);
        if (decision === 'conflict' && this.#conflicts.length < samplesMax) this.#conflicts.push(mismatch.path);
        return decision;
      },
      onSettled: (outcomes) => {
        for (const outcome of outcomes) {
          this.#outcomes.push(outcome);
          this.collections.add(outcome);
        }
      },
      onBrokenOff: (isReported) => {
        if (isReported) this.#isSending = false;
      },
    };
    const onProgress = async (progress: ApplyProgress) => {
      this.#journal?.add(isRetry ? this.#outcomes : this.#outcomes.filter(isJournaled));
      this.#outcomes = [];
      this.#place = checkpoint(progress);
      this.#current = progress;
      this.#dirty = true;
      if ((this.#journal?.pending ?? 0) > pendingMax) await this.flush();
    };
    const onAhead = (ahead: WrittenAhead) => {
      this.#ahead = ahead.written + ahead.deleted > 0 ? ahead : undefined;
      this.#dirty = true;
    };
    return { guard, onProgress, onAhead, stop: this.cancelled };
  }

  /** A process that was paused sends nothing before it has checked that the work is still its own. */
  async #requireHeld(): Promise<void> {
    for (const endsMs = performance.now() + unsureMsMax; !this.#isSure; ) {
      try {
        await this.flush();
      } catch (error) {
        if (error instanceof Superseded || performance.now() > endsMs) throw error;
        await sleep(askAgainMs);
      }
    }
  }

  get #nowMs(): number {
    return this.#context.platform.clock.now().getTime();
  }

  get #isSure(): boolean {
    return performance.now() - this.#heldMs < sureMs && Math.abs(this.#nowMs - this.#heldAtMs) < sureMs;
  }

  /** Versions that earlier runs saved; read when first needed. */
  #savedBefore(): Promise<SavedDocuments> {
    this.#saved ??= savedDocuments(this.#context, this.row);
    return this.#saved;
  }

  /** A version that is newer than the safety backup is saved first and then overwritten. */
  async saveAndReplace({ path, found }: Mismatch): Promise<'replace'> {
    if (!this.#journal) return 'replace';
    const version = found && versionOfDocument(found);
    await this.#journal.save({ path, version, bytes: found ?? new Uint8Array(0) });
    return 'replace';
  }

  /** Ends a stage. Without a next place, the reached one stays. */
  async settle(next: Place | undefined, result: ApplyResult): Promise<void> {
    this.#journal?.add(this.#outcomes);
    this.#outcomes = [];
    this.#isSending = false;
    this.#earlier = sumCounts(this.#earlier, result);
    this.#current = nothingWritten;
    this.#ahead = undefined;
    for (const { path, code, message } of result.errors)
      if (this.#errors.length < samplesMax) this.#errors.push({ path, code, message: oneLine(message, 2000) });
    if (!this.cancelled.aborted && next !== undefined) this.#place = next;
    this.#dirty = true;
    await this.flush();
  }

  /** Everything before this place is done, by this writer or by others. */
  async reach(place: Place): Promise<void> {
    this.#place = place;
    this.#dirty = true;
    await this.flush();
  }

  /** Saves counts, place and journal in one transaction. Calls run one after another. */
  flush(): Promise<void> {
    const run = this.#saving.then(async () => {
      const progress = this.#dirty ? { written: this.#written(), place: this.#place } : undefined;
      this.#dirty = false;
      const pages = await this.#journal?.take();
      try {
        const [askedMs, askedAtMs] = [performance.now(), this.#nowMs];
        await this.persist(progress, pages ?? noPages);
        [this.#heldMs, this.#heldAtMs] = [askedMs, askedAtMs];
        pages?.written();
      } catch (error) {
        if (progress) this.#dirty = true;
        throw error;
      }
    });
    this.#saving = run.catch(() => undefined);
    return run;
  }

  #written(): Written {
    return {
      ...sumCounts(sumCounts(this.#before, this.#earlier), this.#current),
      errorSample: this.#errors,
      conflictSample: this.#conflicts,
      ...this.collections.figures(this.borders(this.#place)),
      ahead: this.#ahead,
    };
  }
}

/** Skipped documents need neither an undo nor another attempt. */
function isJournaled({ result }: WriteOutcome): boolean {
  return result === 'written' || result === 'failed';
}

export function superseded(): Superseded {
  return new Superseded('the restore has ended or moved to another worker');
}
