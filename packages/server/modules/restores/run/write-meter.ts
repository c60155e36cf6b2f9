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
import { nothingWritten, samplesMax, sum } from '../ranges/written.ts';
import type { RestoreRow } from '../restore-store.ts';
import type { DocumentFailure, Written } from '../tables.ts';

/** Looks come every second; another worker takes over after many more. */
const sureMs = 5 * secondMs;
/** While nobody answers whose the work is, nothing is sent; for so long that is waited for. */
const unsureMsMax = 30 * secondMs;
const askAgainMs = 250;
/** Outcomes that wait to be written down; at more than this, writing waits. */
const pendingMax = 50_000;
/** How many documents a run that died may have written behind the last checkpoint: those waiting and those under way. */
export const repeatedRecords = pendingMax + 20_000;

export interface StageStart<Place> {
  /** The stage's place as it is saved while the stage runs. */
  checkpoint(progress: ApplyProgress): Place;
  /** What becomes of a document that somebody changed. */
  onMismatch: WriteGuard['onMismatch'];
  /** False when no earlier run can have come as far as this stage. */
  isContinued?: boolean;
  /** What stood at a path before. */
  former?: WriteGuard['former'];
  /**
   * What failed before is tried again: whatever becomes of it, it has failed no longer. It may be there all the same, from an
   * attempt whose answer was lost.
   */
  isRetry?: boolean;
}

export interface StageHooks {
  guard: WriteGuard;
  onProgress(progress: ApplyProgress): Promise<void>;
  onAhead(ahead: WrittenAhead): void;
  stop: AbortSignal;
}

/** What is written down together with the journal that speaks of it. */
export interface Progress<Place> {
  written: Written;
  place: Place;
}

interface Start<Place> extends Progress<Place> {
  /** An earlier run may have written behind the place where this one begins. */
  isContinued: boolean;
}

/** Follows the writing of documents: counts them, and saves how far it is together with the journal of what that speaks of. */
export abstract class WriteMeter<Place> {
  readonly #context: RestoresContext;
  readonly #isContinued: boolean;
  readonly #before: ApplyCounts;
  /** Stages of this run that are over. */
  #earlier: ApplyCounts = nothingWritten;
  #current: ApplyCounts = nothingWritten;
  #ahead: WrittenAhead | undefined;
  #heard: WriteOutcome[] = [];
  /** Something was sent since everything was last told. */
  #isSending = false;
  #place: Place;
  #dirty = false;
  #journal: JournalWriter | undefined;
  #saved: Promise<SavedDocuments> | undefined;
  readonly #errors: DocumentFailure[];
  readonly #conflicts: string[];
  #saving: Promise<void> = Promise.resolve();
  /** When it was last known that the work is its own, by both clocks: each stands still where the other goes on. */
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
  /** Writes both in one transaction, in which the writer still holds what it writes for; Superseded when it does not. */
  abstract persist(progress: Progress<Place> | undefined, pages: NewPages): Promise<void>;
  /** Where another writer, or another run, may meet a collection that this one has written into. */
  abstract borders(place: Place): readonly (string | null)[];

  /** Whether an earlier run may have written something that the journal does not tell of, and that this one has not come to yet. */
  get isContinued(): boolean {
    return this.#isContinued;
  }

  /** The journal tells everything that was written, by this run and by those before it. */
  get isHeard(): boolean {
    const isWrittenDown = this.#heard.length === 0 && (this.#journal?.pending ?? 0) === 0;
    return !this.#isContinued && !this.#isSending && isWrittenDown;
  }

  /** Aborted when somebody cancels: no further document is sent, what is under way is waited for. */
  get cancelled(): AbortSignal {
    return this.#stop.signal;
  }

  /** Nothing more is wanted: somebody cancels, or the holder gives up. */
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
          this.#heard.push(outcome);
          this.collections.add(outcome);
        }
      },
      onBrokenOff: (isTold) => {
        if (isTold) this.#isSending = false;
      },
    };
    const onProgress = async (progress: ApplyProgress) => {
      this.#journal?.add(isRetry ? this.#heard : this.#heard.filter(isTold));
      this.#heard = [];
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

  /** A process that stood still for a while sends nothing before it has asked whether the work is still its own. */
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

  /** What runs before this one saved of each path; read when it is first asked for. */
  #savedBefore(): Promise<SavedDocuments> {
    this.#saved ??= savedDocuments(this.#context, this.row);
    return this.#saved;
  }

  /** A version that somebody made after the safety backup: saved, and only then written over. */
  async saveAndReplace({ path, found }: Mismatch): Promise<'replace'> {
    if (!this.#journal) return 'replace';
    const version = found && versionOfDocument(found);
    await this.#journal.save({ path, version, bytes: found ?? new Uint8Array(0) });
    return 'replace';
  }

  /** A stage is over. Without a next place, the one it came to stays. */
  async settle(next: Place | undefined, result: ApplyResult): Promise<void> {
    this.#journal?.add(this.#heard);
    this.#heard = [];
    this.#isSending = false;
    this.#earlier = sum(this.#earlier, result);
    this.#current = nothingWritten;
    this.#ahead = undefined;
    for (const { path, code, message } of result.errors)
      if (this.#errors.length < samplesMax) this.#errors.push({ path, code, message: oneLine(message, 2000) });
    if (!this.cancelled.aborted && next !== undefined) this.#place = next;
    this.#dirty = true;
    await this.flush();
  }

  /** Everything before this place is settled, by this writer or by others. */
  async reach(place: Place): Promise<void> {
    this.#place = place;
    this.#dirty = true;
    await this.flush();
  }

  /** Counts, place and journal in one transaction. Calls follow one another. */
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
      ...sum(sum(this.#before, this.#earlier), this.#current),
      errorSample: this.#errors,
      conflictSample: this.#conflicts,
      ...this.collections.figures(this.borders(this.#place)),
      ahead: this.#ahead,
    };
  }
}

/** What was skipped or left alone needs neither undo nor another try. */
function isTold({ result }: WriteOutcome): boolean {
  return result === 'written' || result === 'failed';
}

export function superseded(): Superseded {
  return new Superseded('the restore has ended or moved to another worker');
}
