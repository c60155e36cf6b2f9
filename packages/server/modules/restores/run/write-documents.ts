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
import type { RestoreTracker } from './restore-tracker.ts';
import { skipRecords } from './skip-records.ts';

export interface WriteWork extends OpenRestore {
  context: RestoresContext;
  tracker: RestoreTracker;
  scope: Scope;
}

/** Writes the documents of a restore: first those that failed in an earlier run, then the puts, then the deletes. */
export async function writeDocuments(work: WriteWork): Promise<void> {
  const { tracker } = work;
  const { retryBefore, ...checkpoint } = tracker.row.checkpoint;
  let reached: Checkpoint = checkpoint;
  if (retryBefore !== undefined) await retryFailed(work, reached);
  if (reached.stage === 'puts') {
    reached = { stage: 'deletes' };
    await (tracker.isRanged ? putInRanges(work, checkpoint, reached) : put(work, work.scope, checkpoint, reached));
  }
  if (reached.stage === 'deletes' && !tracker.cancelled.aborted)
    await remove(work, work.scope, reached, checkpoint.stage === 'deletes');
}

/** All puts of all ranges are done before the first delete. */
async function putInRanges(
  { context, tracker, ...open }: WriteWork,
  from: Checkpoint,
  next: Checkpoint,
): Promise<void> {
  if (tracker.cancelled.aborted) return;
  // Failed documents of earlier runs were tried again above.
  await tracker.reach(from);
  await putRanges(context, tracker, open);
  if (!tracker.cancelled.aborted) await tracker.reach(next);
}

async function put(work: WriteWork, scope: Scope, from: Checkpoint, next: Checkpoint): Promise<void> {
  const { tracker } = work;
  const result = await restorePuts({
    ...common(work, scope, from),
    ...tracker.stage({
      checkpoint: ({ settledThrough }) => ({ stage: 'puts', after: settledThrough }),
      onMismatch: (mismatch) => tracker.saveAndReplace(mismatch),
      former: async (path) => work.before?.get(path),
    }),
  });
  await tracker.settle(next, result);
}

async function remove(work: WriteWork, scope: Scope, from: Checkpoint, isContinued: boolean): Promise<void> {
  const { tracker, firestore, before, signal } = work;
  const { row } = tracker;
  const next: Checkpoint = { stage: 'users' };
  if (!row.deleteExtra || scope.documents !== undefined) return tracker.reach(next);
  const result = await restoreDeletes({
    ...common(work, scope, from),
    ...(before ? {} : { live: await liveNames(firestore, row.beganAt, signal) }),
    ...tracker.stage({
      checkpoint: ({ settledThrough }) => ({ stage: 'deletes', after: settledThrough }),
      isContinued,
      onMismatch: leaveChanged,
    }),
  });
  await tracker.settle(next, result);
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
  const { tracker } = work;
  const failed = await failedDocuments(work.context, tracker.row);
  const ofKind = (wanted: number) => [...failed].filter(([, kind]) => kind === wanted).map(([path]) => path);
  const puts = ofKind(recordKind.put);
  const deletes = ofKind(recordKind.delete);
  const again = { ...checkpoint, retryBefore: tracker.row.journalPages };
  const hooks = (onMismatch: (mismatch: Mismatch) => Promise<'replace' | 'conflict' | 'skip'>) =>
    tracker.stage({
      checkpoint: () => again,
      onMismatch,
      former: async (path) => work.before?.get(path),
      isRetry: true,
    });
  if (puts.length > 0) {
    const onMismatch = (mismatch: Mismatch) => tracker.saveAndReplace(mismatch);
    const result = await restorePuts({ ...common(work, documentsScope(puts), {}), ...hooks(onMismatch) });
    await tracker.settle(deletes.length > 0 ? again : checkpoint, result);
  }
  if (deletes.length > 0 && !tracker.cancelled.aborted) {
    const live = work.before ? {} : { live: await liveNames(work.firestore, tracker.row.beganAt, work.signal) };
    const options = { ...common(work, documentsScope(deletes), {}), ...live, ...hooks(leaveChanged) };
    await tracker.settle(checkpoint, await restoreDeletes(options));
  }
}

function common(work: WriteWork, scope: Scope, { after }: Pick<Checkpoint, 'after'>) {
  const { row, target } = work.tracker.work;
  return putOptions(work, { row, target, scope, after });
}

export interface UndoWork extends Omit<WriteWork, 'view' | 'scope' | 'before'> {
  /** The restore that is undone, and what its target held before it. */
  undone: RestoreRow;
  former: View | undefined;
}

/** Undoes a restore from its journal; documents that failed in an earlier run come first. */
export async function undoDocuments(work: UndoWork): Promise<void> {
  const { tracker } = work;
  const { retryBefore, ...checkpoint } = tracker.row.checkpoint;
  if (retryBefore !== undefined) {
    const only = new Set((await failedDocuments(work.context, tracker.row)).keys());
    await undoStage(work, { only, during: () => ({ ...checkpoint, retryBefore }), next: checkpoint });
  }
  const settled = checkpoint.settled ?? 0;
  if (checkpoint.stage !== 'puts' || tracker.cancelled.aborted) return;
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
  const { context, tracker, firestore, undone, former, signal } = work;
  const records = undoRecords({
    only,
    journal: () => readJournal(context, undone),
    before: former,
    database: firestore.target.database,
    signal,
  });
  const result = await firestore.target.apply(skipRecords(records, skip), {
    mode: 'overwrite',
    rampUp: tracker.work.target.writeRampUp,
    signal,
    ...tracker.stage({
      checkpoint: ({ settledRecords }) => during(settledRecords),
      onMismatch: (mismatch) => undoMismatch(tracker, mismatch),
      isRetry: only !== undefined,
    }),
  });
  await tracker.settle(next, result);
}

/** Documents that somebody changed since stay, unless the undo is forced; then they are saved first. */
async function undoMismatch(tracker: RestoreTracker, mismatch: Mismatch): Promise<'replace' | 'conflict' | 'skip'> {
  if (!tracker.row.force) return 'conflict';
  if (mismatch.found === null && mismatch.kind === recordKind.delete) return 'skip';
  return tracker.saveAndReplace(mismatch);
}
