import type { JournalSeal } from '@holdfast/engine';
import { Superseded } from '../../jobs/index.ts';
import type { ProjectRow } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { journalStore, type NewPages, noPages } from '../journal/journal-store.ts';
import { readJournal } from '../journal/restore-journal.ts';
import { type RangeRow, rangeStore } from '../ranges/range-store.ts';
import type { RangeTracker } from '../ranges/range-tracker.ts';
import { nothingAhead, nothingWritten, sumWritten } from '../ranges/written.ts';
import { progressEvents } from '../restore-events.ts';
import { type NewRestore, type RestoreRow, restoreStore } from '../restore-store.ts';
import type { Checkpoint, DocumentFailure, Phase, Written } from '../tables.ts';
import { type Progress, superseded, WriteTracker } from './write-tracker.ts';

export interface RestoreWork {
  row: RestoreRow;
  project: ProjectRow;
  target: ProjectRow;
  organization: { id: string; name: string };
}

/**
 * Saves the progress of a running restore: phase, counts and checkpoint. A checkpoint is always saved together with the
 * journal pages that belong to it. For a restore with ranges, the counts include all ranges.
 */
export class RestoreTracker extends WriteTracker<Checkpoint> {
  #work: RestoreWork;
  readonly #context: RestoresContext;
  #expected: number | undefined;
  #collectionsExpected = Number.POSITIVE_INFINITY;
  #percentTold: number;
  #range: RangeTracker | undefined;
  #rangesWaitFor: string | null = null;
  userFailures: { failed: number; errors: DocumentFailure[] } = { failed: 0, errors: [] };

  constructor(context: RestoresContext, work: RestoreWork) {
    const { row } = work;
    const isContinued = row.epoch > 1 && !row.checkpoint.isHeard;
    super(context, { written: ownWritten(row), place: unheard(row.checkpoint), isContinued });
    this.#context = context;
    this.#work = work;
    this.#percentTold = row.percentTold;
  }

  /** With the row as it was last saved. */
  get work(): RestoreWork {
    return this.#work;
  }

  get row(): RestoreRow {
    return this.#work.row;
  }

  get isRanged(): boolean {
    return this.row.rangesEpoch !== null;
  }

  override async useJournal(seal: JournalSeal): Promise<void> {
    await super.useJournal(seal);
    const { row } = this;
    const writesNow = !this.isRanged || row.checkpoint.retryBefore !== undefined;
    if (row.collectionsRestored > 0 && writesNow) await this.#recallCollections(row);
  }

  /** Collections that earlier runs have counted. Reading stops when all of them are found. */
  async #recallCollections(row: RestoreRow): Promise<void> {
    for await (const { outcomes } of readJournal(this.#context, row)) {
      for (const outcome of outcomes) this.collections.recall(outcome);
      if (this.collections.known >= row.collectionsRestored) return;
    }
  }

  /** The range that the holder itself writes; its progress is saved together with the restore's. */
  attachRange(range: RangeTracker | undefined): void {
    this.#range = range;
  }

  async setPhase(phase: Phase): Promise<void> {
    await this.save({ phase });
  }

  /** From here on, this run may write something that is not in the journal yet, if it dies. */
  async beginWriting(): Promise<void> {
    await this.save({ phase: 'Restoring', checkpoint: unheard(this.row.checkpoint) });
  }

  /** The run ends with a transient error. The next one has to search only for writes that are not in the journal. */
  async countFailure(): Promise<number> {
    const failures = this.row.failures + 1;
    await this.flush().catch(() => undefined);
    await this.save({ failures, checkpoint: { ...this.row.checkpoint, isHeard: this.isHeard } });
    return failures;
  }

  async expect(measured: { documents: number; collections: number }): Promise<void> {
    this.#expected = measured.documents;
    this.#collectionsExpected = measured.collections;
    await this.save({ documentsExpected: measured.documents });
  }

  async save(change: Partial<NewRestore>): Promise<void> {
    await this.#write(change, undefined, noPages);
  }

  override async persist(progress: Progress<Checkpoint> | undefined, pages: NewPages): Promise<void> {
    const { place, written } = progress ?? {};
    await this.#write(place ? { checkpoint: { ...place, ahead: written?.ahead } } : {}, written, pages);
  }

  /** The holder may write anywhere in the restore, and remembers by itself which collections it counted. */
  override borders(): readonly string[] {
    return [];
  }

  /** Called every second: saves the progress. Returns the reason when the work has to stop. */
  async check(waitingFor: string | null | undefined): Promise<Error | undefined> {
    const { documentsRestored, documentsSkipped, documentsDeleted } = this.row;
    try {
      await this.#range?.check(waitingFor);
      await this.flush();
      const { row } = this;
      const hasMoved =
        row.documentsRestored + row.documentsSkipped + row.documentsDeleted >
        documentsRestored + documentsSkipped + documentsDeleted;
      const reported = waitingFor ?? this.#rangesWaitFor ?? waitingFor;
      const next = reported === undefined && hasMoved ? null : reported;
      if (next !== undefined && next !== row.waitingFor) await this.save({ waitingFor: next });
    } catch (error) {
      if (error instanceof Superseded) return error;
      throw error;
    }
    await this.#emitTenths();
    return undefined;
  }

  async #write(change: Partial<NewRestore>, own: Written | undefined, pages: NewPages): Promise<void> {
    const { database, clock } = this.#context.platform;
    const { row } = this;
    const saved = await database.tenant(row.organizationId, async (transaction) => {
      const locked = await restoreStore.lockHeld(transaction, row);
      if (!locked) return undefined;
      await journalStore.add(transaction, locked, pages, clock.now());
      const figures = this.isRanged
        ? this.#allFigures(own ?? locked.ownWritten ?? nothingWritten, await rangeStore.list(transaction, row))
        : own && this.#figures({ ...sumWritten([own]), collections: own.collections + this.collections.known });
      return restoreStore.save(transaction, row, { ...figures, ...change, updatedAt: clock.now() });
    });
    if (!saved) throw superseded();
    this.#work = { ...this.#work, row: saved };
    if (saved.cancelRequestedAt !== null) this.cancel();
  }

  #allFigures(own: Written, ranges: readonly RangeRow[]): Partial<NewRestore> {
    this.#rangesWaitFor = ranges.find(({ isHeld, waitingFor }) => isHeld && waitingFor !== null)?.waitingFor ?? null;
    return { ...this.#figures(sumWritten([own, ...ranges.map(({ written }) => written)])), ownWritten: own };
  }

  #figures(all: Written): Partial<NewRestore> {
    // An undo knows beforehand what it will delete. The extra documents that a restore deletes are not in its expected
    // count.
    const deleted = this.row.undoOf === null ? 0 : all.deleted;
    const done = all.written + all.skipped + all.failed + all.conflicts + deleted;
    return {
      documentsRestored: all.written,
      collectionsRestored: Math.min(this.#collectionsExpected, all.collections),
      documentsSkipped: all.skipped,
      documentsDeleted: all.deleted,
      conflicts: all.conflicts,
      conflictSample: all.conflictSample,
      errorCount: all.failed,
      errorSample: all.errorSample,
      bytesDone: all.bytes,
      ...(this.#expected === undefined
        ? {}
        : { percent: Math.min(99, Math.floor((100 * done) / Math.max(1, this.#expected))) }),
    };
  }

  /** Emits each tenth once. If the work is quick, its end emits those that are left. */
  async #emitTenths(): Promise<void> {
    const reached = Math.floor(this.row.percent / 10) * 10;
    if (reached <= this.#percentTold) return;
    await emitTenths(this.#context, this.work, reached);
    this.#percentTold = reached;
  }
}

function unheard({ isHeard: _, ...checkpoint }: Checkpoint): Checkpoint {
  return checkpoint;
}

/** What earlier holders have written themselves; without ranges that is everything. */
function ownWritten(row: RestoreRow): Written {
  if (row.rangesEpoch !== null) return row.ownWritten ?? nothingWritten;
  const { ahead = nothingAhead } = row.checkpoint;
  return {
    ...nothingWritten,
    written: row.documentsRestored - ahead.written,
    skipped: row.documentsSkipped,
    deleted: row.documentsDeleted - ahead.deleted,
    failed: row.errorCount,
    conflicts: row.conflicts,
    bytes: row.bytesDone - ahead.bytes,
    errorSample: row.errorSample,
    conflictSample: row.conflictSample,
  };
}

async function emitTenths(context: RestoresContext, work: RestoreWork, reached: number): Promise<void> {
  const { database, outbox } = context.platform;
  const { organizationId, id, epoch } = work.row;
  await database.tenant(organizationId, async (transaction) => {
    const row = await restoreStore.lock(transaction, organizationId, id);
    if (row.percentTold >= reached || row.epoch !== epoch || row.dryRun) return;
    const updated = await restoreStore.update(transaction, organizationId, id, { percentTold: reached });
    await outbox.emitAll(transaction, progressEvents({ ...work, row: updated }, row.percentTold, reached));
  });
}
