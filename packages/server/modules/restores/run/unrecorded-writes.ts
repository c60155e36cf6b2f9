import {
  type ConnectedFirestore,
  documentsScope,
  instantToParts,
  type PathRange,
  recordKind,
  restoreDeletes,
  restorePuts,
  type Scope,
  sealJournalPage,
  undoRecords,
  type View,
  type WriteGuard,
  type WriteOutcome,
} from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { toProblem } from '../../job-error.ts';
import type { RestoresContext } from '../context.ts';
import { journalStore } from '../journal/journal-store.ts';
import { journalSeal, readJournal } from '../journal/restore-journal.ts';
import { type SavedDocuments, savedDocuments } from '../journal/saved-documents.ts';
import { rangeStore } from '../ranges/range-store.ts';
import type { RestoreSource } from '../restore-source.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';
import type { Checkpoint } from '../tables.ts';
import { openRestoreSource } from './open-restore-source.ts';
import { openSafetyBackup } from './safety-backup.ts';
import { skipRecords } from './skip-records.ts';
import { failedDocuments, liveNames } from './write-documents.ts';
import { repeatedRecords } from './write-tracker.ts';

const outcomesPerPage = 10_000;

interface Inquiry {
  context: RestoresContext;
  firestore: ConnectedFirestore;
  /** The target's state before the ended restore. */
  former: View | undefined;
  signal: AbortSignal;
  /** Versions that it saved before overwriting them; read once. */
  saved?: Promise<SavedDocuments>;
}

/**
 * Finds writes that are not in the journal. When the connection or the worker was lost, a restore may have written
 * documents after its last checkpoint. This looks for them in the target, without writing anything.
 */
export async function findUnrecordedWrites(
  inquiry: Inquiry,
  ended: RestoreRow,
  isForced: boolean,
): Promise<readonly WriteOutcome[]> {
  const { stage, isHeard, retryBefore } = ended.checkpoint;
  const isPastWriting = (stage === 'users' || stage === 'done') && retryBefore === undefined;
  if (!isBrokenOff(ended) || isHeard || isPastWriting || ended.journalEnvelope === null) return [];
  return inquire(inquiry, ended).catch((error: unknown) => {
    if (!isLost(error)) throw error;
    if (isForced) return [];
    throw new Problem(
      'INTEGRITY_ERROR',
      'The restore broke off, and what it wrote from is gone or damaged, so it cannot be told what it wrote last. An undo with force takes back the rest.',
      { cause: error },
    );
  });
}

/** The source of the restore is needed to tell its writes from those of others, and waiting will not bring it back. */
function isLost(error: unknown): boolean {
  const problem = toProblem(error);
  const codes: readonly string[] = ['BACKUP_NOT_FOUND', 'INTEGRITY_ERROR', 'POINT_IN_TIME_UNAVAILABLE'];
  return problem instanceof Problem && codes.includes(problem.code);
}

/**
 * Adds the found writes to the journal. Only for a restore that is never resumed, because a resume would record them
 * again.
 */
export async function recordFoundWrites(
  context: RestoresContext,
  ended: RestoreRow,
  unheard: readonly WriteOutcome[],
): Promise<RestoreRow> {
  if (!isBrokenOff(ended)) return ended;
  const pages: Uint8Array[] = [];
  const seal = unheard.length === 0 ? undefined : await journalSeal(context, ended);
  for (let from = 0; seal && from < unheard.length; from += outcomesPerPage)
    pages.push(await sealJournalPage({ outcomes: unheard.slice(from, from + outcomesPerPage), saved: [] }, seal));
  const { database, clock } = context.platform;
  return database.tenant(ended.organizationId, (transaction) =>
    journalStore.complete(transaction, ended, pages, clock.now()),
  );
}

const isBrokenOff = ({ status }: RestoreRow) => status === 'failed' || status === 'cancelled';

async function inquire(inquiry: Inquiry, ended: RestoreRow): Promise<WriteOutcome[]> {
  if (ended.undoOf !== null) return inquireUndo(inquiry, ended, ended.undoOf);
  const source = await openRestoreSource(inquiry.context, ended, inquiry.signal);
  try {
    const { retryBefore, ...checkpoint } = ended.checkpoint;
    const found = retryBefore === undefined ? [] : await inquireRetried(inquiry, ended, source);
    const isInRanges = ended.rangesEpoch !== null && checkpoint.stage === 'puts';
    const last = isInRanges
      ? await inquireRanges(inquiry, ended, source)
      : await inquireStage(inquiry, ended, source, ended.scope!, checkpoint);
    return [...found, ...last];
  } finally {
    await source.close();
  }
}

/** When failed documents were being tried again, those are checked too. */
async function inquireRetried(inquiry: Inquiry, ended: RestoreRow, source: RestoreSource): Promise<WriteOutcome[]> {
  const failed = await failedDocuments(inquiry.context, ended);
  const found: WriteOutcome[] = [];
  for (const [kind, stage] of [
    [recordKind.put, 'puts'],
    [recordKind.delete, 'deletes'],
  ] as const) {
    const paths = [...failed].filter(([, one]) => one === kind).map(([path]) => path);
    if (paths.length > 0) found.push(...(await inquireStage(inquiry, ended, source, documentsScope(paths), { stage })));
  }
  return found;
}

/** Each interrupted range, from its own checkpoint to its own end. */
async function inquireRanges(inquiry: Inquiry, ended: RestoreRow, source: RestoreSource): Promise<WriteOutcome[]> {
  const ranges = await inquiry.context.platform.database.tenant(ended.organizationId, (transaction) =>
    rangeStore.list(transaction, ended),
  );
  const found: WriteOutcome[] = [];
  for (const { epoch, isComplete, isHeard, reached, startPath: start, endPath: end } of ranges) {
    if (epoch === 0 || isComplete || isHeard) continue;
    const from: Checkpoint = { stage: 'puts', ...(reached === null ? {} : { after: reached }) };
    for (const outcome of await inquireStage(inquiry, ended, source, ended.scope!, from, { start, end }))
      found.push(outcome);
  }
  return found;
}

async function inquireStage(
  inquiry: Inquiry,
  ended: RestoreRow,
  { view }: RestoreSource,
  scope: Scope,
  { stage, after }: Checkpoint,
  range?: PathRange,
): Promise<WriteOutcome[]> {
  const { firestore, former, signal } = inquiry;
  const { hooks, found } = await hooksOf(inquiry, ended);
  const options = {
    ...hooks,
    view,
    scope,
    signal,
    target: firestore.target,
    mode: ended.mergeMode,
    rewriteReferences: ended.rewriteReferences,
    ...(former ? { before: former } : {}),
    ...(range ? { range } : {}),
    ...(after === undefined ? {} : { after }),
  };
  if (stage === 'puts') await restorePuts(options);
  else if (stage !== 'deletes') return [];
  else if (ended.deleteExtra && former) await restoreDeletes(options);
  else if (ended.deleteExtra)
    await restoreDeletes({ ...options, live: await liveNames(firestore, ended.beganAt, signal) });
  return found;
}

async function inquireUndo(inquiry: Inquiry, ended: RestoreRow, undoneId: string): Promise<WriteOutcome[]> {
  const { context, firestore, signal } = inquiry;
  const { organizationId } = ended;
  const undone = await context.platform.database.tenant(organizationId, (transaction) =>
    restoreStore.get(transaction, organizationId, undoneId),
  );
  const before = await openSafetyBackup(context, undone, signal);
  try {
    const { hooks, found } = await hooksOf(inquiry, ended);
    const records = undoRecords({
      journal: () => readJournal(context, undone),
      before: before?.view,
      database: firestore.target.database,
      signal,
    });
    const { settled = 0, retryBefore } = ended.checkpoint;
    // Retried documents may be anywhere, so nothing is skipped.
    const skipped = retryBefore === undefined ? settled : 0;
    await firestore.target.apply(skipRecords(records, skipped), { ...hooks, mode: 'overwrite', signal });
    return found;
  } finally {
    await before?.close();
  }
}

/** Hooks that check as many records as a run may have written after its checkpoint, and collect those it did write. */
async function hooksOf(inquiry: Inquiry, ended: RestoreRow) {
  const { context, former } = inquiry;
  inquiry.saved ??= savedDocuments(context, ended);
  const saved = await inquiry.saved;
  const enough = new AbortController();
  const found: WriteOutcome[] = [];
  const guard: WriteGuard = {
    repeatedRecords,
    began: ended.beganAt === null ? undefined : instantToParts(ended.beganAt),
    former: async (path) => (saved.has(path) ? saved.bytes(path) : former?.get(path)),
    savedVersion: async (path) => saved.version(path),
    onMismatch: async () => 'skip',
    onSettled: (outcomes) => {
      for (const outcome of outcomes) if (outcome.result === 'written') found.push(outcome);
    },
  };
  const onProgress = ({ settledRecords }: { settledRecords: number }) => {
    if (settledRecords >= repeatedRecords) enough.abort();
  };
  return { found, hooks: { guard, onProgress, isInquiry: true, rampUp: false, stop: enough.signal } };
}
