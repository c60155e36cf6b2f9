import type { ApplyCounts, ApplyProgress, ApplyResult } from '@holdfast/engine';
import type { ProjectRow } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import { tellRestore } from '../restore-events.ts';
import { type NewRestore, type RestoreRow, restoreStore } from '../restore-store.ts';
import type { Checkpoint, DocumentFailure, Phase } from '../tables.ts';

/** Another worker holds the restore now, or it has ended: stop without a word. */
export class Superseded extends Error {}

const tickMs = 1000;

export interface RestoreWork {
  row: RestoreRow;
  project: ProjectRow;
  target: ProjectRow;
  organization: { id: string; name: string };
}

/** Keeps the record of a running restore true: phase, checkpoint, counts; and notices when it is no longer wanted. */
export class RestoreMeter {
  readonly work: RestoreWork;
  readonly #context: RestoresContext;
  readonly #stop = new AbortController();
  /** What earlier claims of this restore were credited with. */
  readonly #before: ApplyCounts;
  #current: ApplyCounts = { written: 0, skipped: 0, deleted: 0, failed: 0, conflicts: 0, bytes: 0 };
  #expected = 0;
  #percentTold: number;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> = Promise.resolve();
  #dirty = false;
  #checkpoint: Checkpoint;
  userFailures: { failed: number; errors: DocumentFailure[] } = { failed: 0, errors: [] };

  constructor(context: RestoresContext, work: RestoreWork) {
    this.#context = context;
    this.work = work;
    const { row } = work;
    this.#before = {
      written: row.documentsRestored,
      skipped: row.documentsSkipped,
      deleted: row.documentsDeleted,
      failed: row.errorCount,
      conflicts: 0,
      bytes: row.bytesDone,
    };
    this.#percentTold = row.percentTold;
    this.#checkpoint = row.checkpoint;
  }

  get row(): RestoreRow {
    return this.work.row;
  }

  get superseded(): boolean {
    return this.#stop.signal.reason instanceof Superseded;
  }

  start(outer: AbortSignal): AbortSignal {
    this.#timer = setInterval(() => {
      this.#ticking = this.#ticking
        .then(() => this.#tick())
        .catch((error: unknown) => this.#context.platform.log.debug({ err: error }, 'progress could not be shown'));
    }, tickMs);
    return AbortSignal.any([outer, this.#stop.signal]);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#ticking;
  }

  async enter(phase: Phase): Promise<void> {
    await this.save({ phase });
  }

  async expect(measured: { documents: number; collections: number }): Promise<void> {
    this.#expected = measured.documents;
    await this.save({ documentsExpected: measured.documents, collectionsRestored: measured.collections });
  }

  /** Called after every acknowledged stretch; written down by the next tick, so that a fast restore is not slowed by its record. */
  checkpoint(stage: 'puts' | 'deletes', progress: ApplyProgress): void {
    this.#checkpoint = { stage, after: progress.settledThrough };
    this.#current =
      stage === 'puts' ? progress : { ...this.#current, deleted: progress.deleted, failed: this.#current.failed };
    this.#dirty = true;
  }

  async settle(stage: 'puts' | 'deletes', result: ApplyResult): Promise<void> {
    this.#current =
      stage === 'puts'
        ? result
        : { ...this.#current, deleted: result.deleted, failed: this.#current.failed + result.failed };
    this.#checkpoint = { stage: stage === 'puts' ? 'deletes' : 'users' };
    const errorSample = [
      ...this.row.errorSample,
      ...result.errors.map(({ path, code, message }) => ({ path, code, message: message.slice(0, 2000) })),
    ].slice(0, 100);
    await this.save({ ...this.#figures(), errorSample });
  }

  async save(change: Partial<NewRestore>): Promise<void> {
    const { database, clock } = this.#context.platform;
    const saved = await database.tenant(this.row.organizationId, (transaction) =>
      restoreStore.save(transaction, this.row, { ...change, updatedAt: clock.now() }),
    );
    if (saved) return;
    const gone = new Superseded('the restore has ended or moved to another worker');
    this.#stop.abort(gone);
    throw gone;
  }

  #figures(): Partial<NewRestore> {
    const [before, now] = [this.#before, this.#current];
    const done = before.written + before.skipped + before.failed + now.written + now.skipped + now.failed;
    return {
      checkpoint: this.#checkpoint,
      documentsRestored: before.written + now.written,
      documentsSkipped: before.skipped + now.skipped,
      documentsDeleted: before.deleted + now.deleted,
      errorCount: before.failed + now.failed,
      bytesDone: before.bytes + now.bytes,
      percent: Math.min(99, Math.floor((100 * done) / Math.max(1, this.#expected))),
    };
  }

  async #tick(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const figures = this.#dirty ? this.#figures() : {};
    this.#dirty = false;
    await this.save(figures);
    await this.#tellTenths(figures.percent ?? 0);
  }

  async #tellTenths(percent: number): Promise<void> {
    const { database, outbox } = this.#context.platform;
    for (let tenth = this.#percentTold + 10; tenth <= percent; tenth += 10) {
      await database.tenant(this.row.organizationId, async (transaction) => {
        const row = await restoreStore.lock(transaction, this.row.organizationId, this.row.id);
        if (row.percentTold >= tenth || row.epoch !== this.row.epoch) return;
        const told = await restoreStore.update(transaction, row.organizationId, row.id, { percentTold: tenth });
        await tellRestore(outbox, transaction, 'restore.progress', { ...this.work, row: told }, tenth);
      });
      this.#percentTold = tenth;
    }
  }
}
