import {
  type ApplyCounts,
  type ApplyProgress,
  type ApplyResult,
  EngineError,
  instantToParts,
  type Mismatch,
  recordKind,
  type SavedDocument,
  versionOfDocument,
  type WriteGuard,
  type WriteOutcome,
} from '@holdfast/engine';
import { Superseded } from '../../jobs/index.ts';
import type { ProjectRow } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { journalStore } from '../journal/journal-store.ts';
import { type JournalWriter, readJournal, savedDocuments } from '../journal/restore-journal.ts';
import { emitRestoreEvent } from '../restore-events.ts';
import { type NewRestore, type RestoreRow, restoreStore } from '../restore-store.ts';
import type { Checkpoint, DocumentFailure, Phase } from '../tables.ts';

export interface RestoreWork {
  row: RestoreRow;
  project: ProjectRow;
  target: ProjectRow;
  organization: { id: string; name: string };
}

/** Outcomes that wait to be written down; at more than this, writing waits. */
const pendingMax = 50_000;
/** How many documents a run that died may have written behind the last checkpoint: those waiting and those under way. */
export const repeatedRecords = pendingMax + 20_000;
const samplesMax = 100;
const collectionsMax = 10_000;
const noCounts: ApplyCounts = { written: 0, skipped: 0, deleted: 0, failed: 0, conflicts: 0, bytes: 0 };

export interface StageStart {
  /** The stage's checkpoint as it is saved while the stage runs. */
  checkpoint(progress: ApplyProgress): Checkpoint;
  /** What becomes of a document that somebody changed. */
  onMismatch: WriteGuard['onMismatch'];
  /** False when no earlier run can have come as far as this stage. */
  isContinued?: boolean;
  /** What stood at a path before. */
  former?: WriteGuard['former'];
}

/**
 * Keeps the record of a running restore true: phase, counts, and the checkpoint, which is always saved together with the
 * journal of what it speaks of.
 */
export class RestoreMeter {
  #work: RestoreWork;
  readonly #context: RestoresContext;
  readonly #before: ApplyCounts;
  /** Stages of this run that are over. */
  #earlier: ApplyCounts = noCounts;
  #current: ApplyCounts = noCounts;
  #heard: WriteOutcome[] = [];
  #expected = 0;
  #collectionsExpected = 0;
  /** Those that this restore has written something into, in this run or one before. */
  readonly #collections = new Set<string>();
  #percentTold: number;
  #checkpoint: Checkpoint;
  #dirty = false;
  #journal: JournalWriter | undefined;
  #saved: Promise<ReadonlyMap<string, SavedDocument>> | undefined;
  readonly #errors: DocumentFailure[];
  readonly #conflicts: string[];
  #saving: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  usersImported = 0;
  userFailures: { failed: number; errors: DocumentFailure[] } = { failed: 0, errors: [] };

  constructor(context: RestoresContext, work: RestoreWork) {
    this.#context = context;
    this.#work = work;
    const { row } = work;
    this.#before = {
      written: row.documentsRestored,
      skipped: row.documentsSkipped,
      deleted: row.documentsDeleted,
      failed: row.errorCount,
      conflicts: row.conflicts,
      bytes: row.bytesDone,
    };
    this.#errors = [...row.errorSample];
    this.#conflicts = [...row.conflictSample];
    this.#percentTold = row.percentTold;
    this.#checkpoint = row.checkpoint;
  }

  /** With the row as it was saved last. */
  get work(): RestoreWork {
    return this.#work;
  }

  get row(): RestoreRow {
    return this.#work.row;
  }

  /** Aborted when somebody cancels: no further document is sent, what is under way is waited for. */
  get cancelled(): AbortSignal {
    return this.#stop.signal;
  }

  async useJournal(journal: JournalWriter): Promise<void> {
    this.#journal = journal;
    const { row } = this;
    if (row.collectionsRestored > 0) await this.#recallCollections(row);
  }

  /** The runs before this one have counted theirs; reading ends when all of them are found. */
  async #recallCollections(row: RestoreRow): Promise<void> {
    for await (const { outcomes } of readJournal(this.#context, row)) {
      for (const outcome of outcomes) this.#countCollection(outcome);
      if (this.#collections.size >= row.collectionsRestored) return;
    }
  }

  async setPhase(phase: Phase): Promise<void> {
    await this.save({ phase });
  }

  async expect(measured: { documents: number; collections: number }): Promise<void> {
    this.#expected = measured.documents;
    this.#collectionsExpected = measured.collections;
    await this.save({ documentsExpected: measured.documents });
  }

  /** The guard and the listener of one stage of writing. */
  stage({ checkpoint, onMismatch, isContinued = true, former = async () => undefined }: StageStart): StageHooks {
    const guard: WriteGuard = {
      repeatedRecords: this.row.epoch > 1 && isContinued ? repeatedRecords : 0,
      began: this.row.beganAt === null ? undefined : instantToParts(this.row.beganAt),
      former: async (path) => {
        const saved = (await this.#savedBefore()).get(path);
        return saved ? (saved.version ? saved.bytes : undefined) : former(path);
      },
      savedVersion: async (path) => (await this.#savedBefore()).get(path)?.version,
      onMismatch: async (mismatch) => {
        const decision = await onMismatch(mismatch);
        if (decision === 'conflict' && this.#conflicts.length < samplesMax) this.#conflicts.push(mismatch.path);
        return decision;
      },
      onSettled: (outcomes) => {
        for (const outcome of outcomes) {
          this.#heard.push(outcome);
          this.#countCollection(outcome);
        }
      },
    };
    const onProgress = async (progress: ApplyProgress) => {
      this.#journal?.add(this.#heard);
      this.#heard = [];
      this.#checkpoint = checkpoint(progress);
      this.#current = progress;
      this.#dirty = true;
      if ((this.#journal?.pending ?? 0) > pendingMax) await this.flush();
    };
    return { guard, onProgress, stop: this.cancelled };
  }

  #countCollection({ path, kind, result }: WriteOutcome): void {
    if (result !== 'written' || kind !== recordKind.put || this.#collections.size >= collectionsMax) return;
    this.#collections.add(path.slice(0, path.lastIndexOf('/')));
  }

  /** What runs before this one saved of each path; read when it is first asked for. */
  #savedBefore(): Promise<ReadonlyMap<string, SavedDocument>> {
    this.#saved ??= savedDocuments(this.#context, this.row);
    return this.#saved;
  }

  /** A version that somebody made after the safety backup: saved, and only then written over. */
  async saveAndReplace({ path, found }: Mismatch): Promise<'replace'> {
    if (!this.#journal) return 'replace';
    const version = found && versionOfDocument(found);
    const saved = await this.#journal.save({ path, version, bytes: found ?? new Uint8Array(0) });
    if (!saved) throw new Superseded('the restore has ended or moved to another worker');
    return 'replace';
  }

  async settle(next: Checkpoint, result: ApplyResult): Promise<void> {
    this.#journal?.add(this.#heard);
    this.#heard = [];
    this.#earlier = sum(this.#earlier, result);
    this.#current = noCounts;
    for (const { path, code, message } of result.errors)
      if (this.#errors.length < samplesMax) this.#errors.push({ path, code, message: message.slice(0, 2000) });
    if (!this.cancelled.aborted) this.#checkpoint = next;
    this.#dirty = true;
    await this.flush();
  }

  async save(change: Partial<NewRestore>): Promise<void> {
    await this.#write(change, []);
  }

  /** Counts, checkpoint and journal in one transaction. Calls follow one another. */
  flush(): Promise<void> {
    const run = this.#saving.then(async () => {
      const figures = this.#dirty ? this.#figures() : {};
      this.#dirty = false;
      const pages = this.#journal ? await this.#journal.take() : { sealed: [], written: () => undefined };
      try {
        await this.#write(figures, pages.sealed);
        pages.written();
      } catch (error) {
        this.#dirty = true;
        throw error;
      }
    });
    this.#saving = run.catch(() => undefined);
    return run;
  }

  /** Every second: shows how far it is; answers with the reason when it has to stop. */
  async look(waitingFor: string | null | undefined): Promise<Error | undefined> {
    const { documentsRestored, documentsSkipped, documentsDeleted } = this.row;
    try {
      await this.flush();
      const { row } = this;
      const hasMoved =
        row.documentsRestored + row.documentsSkipped + row.documentsDeleted >
        documentsRestored + documentsSkipped + documentsDeleted;
      const told = waitingFor === undefined && hasMoved ? null : waitingFor;
      if (told !== undefined && told !== row.waitingFor) await this.save({ waitingFor: told });
    } catch (error) {
      if (error instanceof Superseded) return error;
      throw error;
    }
    await this.#tellTenths();
    return undefined;
  }

  async #write(change: Partial<NewRestore>, pages: readonly Uint8Array[]): Promise<void> {
    const { database, clock } = this.#context.platform;
    const { row } = this;
    const saved = await database.tenant(row.organizationId, async (transaction) => {
      if (pages.length > 0 && !(await journalStore.append(transaction, row, pages, clock.now()))) return undefined;
      return restoreStore.save(transaction, row, { ...change, updatedAt: clock.now() });
    });
    if (!saved) throw new Superseded('the restore has ended or moved to another worker');
    this.#work = { ...this.#work, row: saved };
    if (saved.cancelRequestedAt !== null) this.#stop.abort(new EngineError('CANCELLED', 'The restore was cancelled.'));
  }

  #figures(): Partial<NewRestore> {
    const all = sum(sum(this.#before, this.#earlier), this.#current);
    const done = all.written + all.skipped + all.failed + all.conflicts;
    return {
      checkpoint: this.#checkpoint,
      documentsRestored: all.written,
      collectionsRestored: Math.min(this.#collectionsExpected, this.#collections.size),
      documentsSkipped: all.skipped,
      documentsDeleted: all.deleted,
      conflicts: all.conflicts,
      conflictSample: this.#conflicts,
      errorCount: all.failed,
      errorSample: this.#errors,
      bytesDone: all.bytes,
      percent: Math.min(99, Math.floor((100 * done) / Math.max(1, this.#expected))),
    };
  }

  /** Each tenth once. All of them come, however quick the work was: the ending tells those that are left. */
  async #tellTenths(): Promise<void> {
    const percent = this.#figures().percent ?? 0;
    for (let tenth = this.#percentTold + 10; tenth <= percent; tenth += 10) {
      await tellTenth(this.#context, this.work, tenth);
      this.#percentTold = tenth;
    }
  }
}

export interface StageHooks {
  guard: WriteGuard;
  onProgress(progress: ApplyProgress): Promise<void>;
  stop: AbortSignal;
}

async function tellTenth(context: RestoresContext, work: RestoreWork, tenth: number): Promise<void> {
  const { database, outbox } = context.platform;
  const { organizationId, id, epoch } = work.row;
  await database.tenant(organizationId, async (transaction) => {
    const row = await restoreStore.lock(transaction, organizationId, id);
    if (row.percentTold >= tenth || row.epoch !== epoch || row.dryRun) return;
    const told = await restoreStore.update(transaction, organizationId, id, { percentTold: tenth });
    await emitRestoreEvent(outbox, transaction, 'restore.progress', { ...work, row: told }, tenth);
  });
}

function sum(left: ApplyCounts, right: ApplyCounts): ApplyCounts {
  return {
    written: left.written + right.written,
    skipped: left.skipped + right.skipped,
    deleted: left.deleted + right.deleted,
    failed: left.failed + right.failed,
    conflicts: left.conflicts + right.conflicts,
    bytes: left.bytes + right.bytes,
  };
}
