import {
  type ConnectedFirestore,
  documentsScope,
  instantToParts,
  type Mismatch,
  recordKind,
  restoreDeletes,
  restorePuts,
  type Scope,
  undoRecords,
  type View,
} from '@holdfast/engine';
import type { RestoresContext } from '../context.ts';
import { readJournal } from '../journal/restore-journal.ts';
import { putRanges } from '../ranges/put-ranges.ts';
import type { RestoreRow } from '../restore-store.ts';
import type { Checkpoint } from '../tables.ts';
import { type OpenRestore, putOptions } from './put-options.ts';
import type { RestoreMeter } from './restore-meter.ts';
import { skipRecords } from './skip-records.ts';

export interface WriteWork extends OpenRestore {
  context: RestoresContext;
  meter: RestoreMeter;
  scope: Scope;
}

/** Writes the documents of a restore: first those that failed in an earlier run, then the puts, then the deletes. */
export async function writeDocuments(work: WriteWork): Promise<void> {
  const { meter } = work;
  const { retryBefore, ...checkpoint } = meter.row.checkpoint;
  let reached: Checkpoint = checkpoint;
  if (retryBefore !== undefined) await retryFailed(work, reached);
  if (reached.stage === 'puts') {
    reached = { stage: 'deletes' };
    await (meter.isRanged ? putInRanges(work, checkpoint, reached) : put(work, work.scope, checkpoint, reached));
  }
  if (reached.stage === 'deletes' && !meter.cancelled.aborted)
    await remove(work, work.scope, reached, checkpoint.stage === 'deletes');
}

/** All puts of all ranges are done before the first delete. */
async function putInRanges({ context, meter, ...open }: WriteWork, from: Checkpoint, next: Checkpoint): Promise<void> {
  if (meter.cancelled.aborted) return;
  // Failed documents of earlier runs were tried again above.
  await meter.reach(from);
  await putRanges(context, meter, open);
  if (!meter.cancelled.aborted) await meter.reach(next);
}

async function put(work: WriteWork, scope: Scope, from: Checkpoint, next: Checkpoint): Promise<void> {
  const { meter } = work;
  const result = await restorePuts({
    ...common(work, scope, from),
    ...meter.stage({
      checkpoint: ({ settledThrough }) => ({ stage: 'puts', after: settledThrough }),
      onMismatch: (mismatch) => meter.saveAndReplace(mismatch),
      former: async (path) => work.before?.get(path),
    }),
  });
  await meter.settle(next, result);
}

async function remove(work: WriteWork, scope: Scope, from: Checkpoint, isContinued: boolean): Promise<void> {
  const { meter, firestore, before, signal } = work;
  const { row } = meter;
  const next: Checkpoint = { stage: 'users' };
  if (!row.deleteExtra || scope.documents !== undefined) return meter.reach(next);
  const result = await restoreDeletes({
    ...common(work, scope, from),
    ...(before ? {} : { live: await liveNames(firestore, row.beganAt, signal) }),
    ...meter.stage({
      checkpoint: ({ settledThrough }) => ({ stage: 'deletes', after: settledThrough }),
      isContinued,
      onMismatch: leaveChanged,
    }),
  });
  await meter.settle(next, result);
}

export async function liveNames({ source }: ConnectedFirestore, beganAt: string | null, signal: AbortSignal) {
  const readTime = await source.snapshotTime({ signal });
  return { source, readTime, began: instantToParts(beganAt ?? readTime) };
}

/** A changed document is not deleted; a missing one needs no delete. */
async function leaveChanged({ found }: Mismatch): Promise<'conflict' | 'skip'> {
  return found === null ? 'skip' : 'conflict';
}

/** The documents that failed and were not settled since, with the kind of their record. */
export async function failedDocuments(context: RestoresContext, row: RestoreRow): Promise<Map<string, number>> {
  const failed = new Map<string, number>();
  for await (const page of readJournal(context, row))
    for (const { path, kind, result } of page.outcomes) {
      if (result === 'failed') failed.set(path, kind);
      else failed.delete(path);
    }
  return failed;
}

async function retryFailed(work: WriteWork, checkpoint: Checkpoint): Promise<void> {
  const { meter } = work;
  const failed = await failedDocuments(work.context, meter.row);
  const ofKind = (wanted: number) => [...failed].filter(([, kind]) => kind === wanted).map(([path]) => path);
  const puts = ofKind(recordKind.put);
  const deletes = ofKind(recordKind.delete);
  const again = { ...checkpoint, retryBefore: meter.row.journalPages };
  const hooks = (onMismatch: (mismatch: Mismatch) => Promise<'replace' | 'conflict' | 'skip'>) =>
    meter.stage({
      checkpoint: () => again,
      onMismatch,
      former: async (path) => work.before?.get(path),
      isRetry: true,
    });
  if (puts.length > 0) {
    const onMismatch = (mismatch: Mismatch) => meter.saveAndReplace(mismatch);
    const result = await restorePuts({ ...common(work, documentsScope(puts), {}), ...hooks(onMismatch) });
    await meter.settle(deletes.length > 0 ? again : checkpoint, result);
  }
  if (deletes.length > 0 && !meter.cancelled.aborted) {
    const live = work.before ? {} : { live: await liveNames(work.firestore, meter.row.beganAt, work.signal) };
    const options = { ...common(work, documentsScope(deletes), {}), ...live, ...hooks(leaveChanged) };
    await meter.settle(checkpoint, await restoreDeletes(options));
  }
}

function common(work: WriteWork, scope: Scope, { after }: Pick<Checkpoint, 'after'>) {
  const { row, target } = work.meter.work;
  return putOptions(work, { row, target, scope, after });
}

export interface UndoWork extends Omit<WriteWork, 'view' | 'scope' | 'before'> {
  /** The restore that is undone, and what its target held before it. */
  undone: RestoreRow;
  former: View | undefined;
}

/** Undoes a restore from its journal; documents that failed in an earlier run come first. */
export async function undoDocuments(work: UndoWork): Promise<void> {
  const { meter } = work;
  const { retryBefore, ...checkpoint } = meter.row.checkpoint;
  if (retryBefore !== undefined) {
    const only = new Set((await failedDocuments(work.context, meter.row)).keys());
    await undoStage(work, { only, during: () => ({ ...checkpoint, retryBefore }), next: checkpoint });
  }
  const settled = checkpoint.settled ?? 0;
  if (checkpoint.stage !== 'puts' || meter.cancelled.aborted) return;
  await undoStage(work, {
    skip: settled,
    during: (settledRecords) => ({ stage: 'puts', settled: settled + settledRecords }),
    next: { stage: 'users' },
  });
}

interface UndoStage {
  only?: ReadonlySet<string>;
  skip?: number;
  during(settledRecords: number): Checkpoint;
  next: Checkpoint;
}

async function undoStage(work: UndoWork, { only, skip = 0, during, next }: UndoStage): Promise<void> {
  const { context, meter, firestore, undone, former, signal } = work;
  const records = undoRecords({
    only,
    journal: () => readJournal(context, undone),
    before: former,
    database: firestore.target.database,
    signal,
  });
  const result = await firestore.target.apply(skipRecords(records, skip), {
    mode: 'overwrite',
    rampUp: meter.work.target.writeRampUp,
    signal,
    ...meter.stage({
      checkpoint: ({ settledRecords }) => during(settledRecords),
      onMismatch: (mismatch) => undoMismatch(meter, mismatch),
      isRetry: only !== undefined,
    }),
  });
  await meter.settle(next, result);
}

/** Documents that somebody changed since stay, unless the undo is forced; then they are saved first. */
async function undoMismatch(meter: RestoreMeter, mismatch: Mismatch): Promise<'replace' | 'conflict' | 'skip'> {
  if (!meter.row.force) return 'conflict';
  if (mismatch.found === null && mismatch.kind === recordKind.delete) return 'skip';
  return meter.saveAndReplace(mismatch);
}
