import { type ConnectedFirestore, LostVersion, previewUndo, type WriteOutcome } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { RestoresContext } from '../context.ts';
import { journalSeal, readJournal } from '../journal/restore-journal.ts';
import { samplesMax } from '../ranges/written.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';
import { endRestore } from './end-restore.ts';
import { type Measured, namedPathsMax } from './measure-restore.ts';
import type { RestoreTracker } from './restore-tracker.ts';
import { makeSafetyBackup, openSafetyBackup } from './safety-backup.ts';
import { findUnrecordedWrites, recordFoundWrites } from './unrecorded-writes.ts';
import { undoDocuments } from './write-documents.ts';

/** The phases of an undo from Downloading on. */
export async function runUndo(
  context: RestoresContext,
  tracker: RestoreTracker,
  undoneId: string,
  firestore: ConnectedFirestore,
  signal: AbortSignal,
): Promise<void> {
  const { row } = tracker;
  const ended = await context.platform.database.tenant(row.organizationId, (transaction) =>
    restoreStore.get(transaction, row.organizationId, undoneId),
  );
  const former = await openSafetyBackup(context, ended, signal);
  try {
    const unheard = await findUnrecordedWrites({ context, firestore, former: former?.view, signal }, ended, row.force);
    await tracker.setPhase('Decrypting');
    const measured = await measureUndo(context, ended, unheard);
    await tracker.setPhase('Decompressing');
    await tracker.setPhase('Validating');
    await tracker.expect(measured);
    if (row.dryRun) {
      for (const phase of ['Restoring', 'Finalizing'] as const) await tracker.setPhase(phase);
      const pages = writtenBy(context, ended, unheard);
      return await endRestore(context, tracker.work, await wouldDo(firestore, row, pages, signal));
    }
    const undone = await recordFoundWrites(context, ended, unheard);
    await tracker.useJournal(await journalSeal(context, row));
    const saved = { scope: undone.scope!, measured, readFrom: former?.readFrom };
    const before = await makeSafetyBackup(context, tracker, saved, signal);
    await before?.close();
    await tracker.beginWriting();
    await undoDocuments({ context, tracker, firestore, undone, former: former?.view, signal }).catch(asLost);
    if (tracker.cancelled.aborted)
      return await endRestore(context, tracker.work, { cancelled: true, isHeard: !tracker.isContinued });
    await tracker.setPhase('Finalizing');
    await endRestore(context, tracker.work, { users: tracker.userFailures });
  } finally {
    await former?.close();
  }
}

function asLost(error: unknown): never {
  if (error instanceof LostVersion)
    throw new Problem('INTEGRITY_ERROR', `What was at ${error.path} before the restore was not saved.`);
  throw error;
}

/** What a restore wrote or deleted, from its journal and from the writes that were found later. */
async function* writtenBy(
  context: RestoresContext,
  undone: RestoreRow,
  unheard: readonly WriteOutcome[],
): AsyncGenerator<readonly WriteOutcome[]> {
  const isWritten = ({ result }: WriteOutcome) => result === 'written';
  for await (const { outcomes } of readJournal(context, undone)) yield outcomes.filter(isWritten);
  yield unheard.filter(isWritten);
}

async function measureUndo(
  context: RestoresContext,
  undone: RestoreRow,
  unheard: readonly WriteOutcome[],
): Promise<Measured> {
  const collections = new Set<string>();
  const paths: string[] = [];
  let documents = 0;
  for await (const written of writtenBy(context, undone, unheard))
    for (const { path } of written) {
      documents += 1;
      collections.add(path.slice(0, path.lastIndexOf('/')));
      if (paths.length <= namedPathsMax) paths.push(path);
    }
  const few = documents <= namedPathsMax ? paths : undefined;
  return { documents, collections: collections.size, borders: [], paths: few };
}

/** What an undo would do to the current documents. */
async function wouldDo(
  firestore: ConnectedFirestore,
  row: RestoreRow,
  pages: AsyncIterable<readonly WriteOutcome[]>,
  signal: AbortSignal,
) {
  const preview = { create: 0, replace: 0, merge: 0, skip: 0, delete: 0, irreversible: 0 };
  const conflicts = { conflicts: 0, conflictSample: [] as string[] };
  for await (const written of pages) {
    const would = await previewUndo(written, { source: firestore.source, isForced: row.force, signal });
    for (const kind of ['create', 'replace', 'skip', 'delete'] as const) preview[kind] += would[kind];
    conflicts.conflicts += would.conflicts.length;
    conflicts.conflictSample.push(...would.conflicts.slice(0, samplesMax - conflicts.conflictSample.length));
  }
  return { preview, conflicts };
}
