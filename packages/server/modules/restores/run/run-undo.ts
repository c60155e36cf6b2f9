import { type ConnectedFirestore, LostVersion, type WriteOutcome } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import type { RestoresContext } from '../context.ts';
import { journalSeal, readJournal } from '../journal/restore-journal.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';
import { endRestore } from './end-restore.ts';
import type { Measured } from './measure-restore.ts';
import type { RestoreMeter } from './restore-meter.ts';
import { openFormer, saveBefore } from './safety.ts';
import { findUnheard, tellUnheard } from './unheard.ts';
import { undoDocuments } from './write-documents.ts';

/** The phases of an undo from Downloading on. */
export async function runUndo(
  context: RestoresContext,
  meter: RestoreMeter,
  undoneId: string,
  firestore: ConnectedFirestore,
  signal: AbortSignal,
): Promise<void> {
  const { row } = meter;
  const ended = await context.platform.database.tenant(row.organizationId, (transaction) =>
    restoreStore.get(transaction, row.organizationId, undoneId),
  );
  const former = await openFormer(context, ended, signal);
  try {
    const unheard = await findUnheard({ context, firestore, former: former?.view, signal }, ended, row.force);
    await meter.setPhase('Decrypting');
    const { measured, preview } = await measureUndo(context, ended, unheard);
    await meter.setPhase('Decompressing');
    await meter.setPhase('Validating');
    await meter.expect(measured);
    if (row.dryRun) {
      for (const phase of ['Restoring', 'Finalizing'] as const) await meter.setPhase(phase);
      return await endRestore(context, meter.work, { preview });
    }
    const undone = await tellUnheard(context, ended, unheard);
    await meter.useJournal(await journalSeal(context, row));
    const saved = { scope: undone.scope!, measured, readFrom: former?.readFrom };
    const before = await saveBefore(context, meter, saved, signal);
    await before?.close();
    await meter.beginWriting();
    await undoDocuments({ context, meter, firestore, undone, former: former?.view, signal }).catch(asLost);
    if (meter.cancelled.aborted)
      return await endRestore(context, meter.work, { cancelled: true, isHeard: !meter.isContinued });
    await meter.setPhase('Finalizing');
    await endRestore(context, meter.work, { users: meter.userFailures });
  } finally {
    await former?.close();
  }
}

function asLost(error: unknown): never {
  if (error instanceof LostVersion)
    throw new Problem('INTEGRITY_ERROR', `What was at ${error.path} before the restore was not saved.`);
  throw error;
}

/** What an undo would do, from the journal and what it does not tell of yet. */
async function measureUndo(context: RestoresContext, undone: RestoreRow, unheard: readonly WriteOutcome[]) {
  const preview = { create: 0, replace: 0, merge: 0, skip: 0, delete: 0, irreversible: 0 };
  const collections = new Set<string>();
  const paths: string[] = [];
  const count = (outcomes: readonly WriteOutcome[]) => {
    for (const { path, result, replaced, version } of outcomes) {
      if (result !== 'written') continue;
      preview[replaced === null ? 'delete' : version === null ? 'create' : 'replace'] += 1;
      collections.add(path.slice(0, path.lastIndexOf('/')));
      if (paths.length <= namedPathsMax) paths.push(path);
    }
  };
  for await (const page of readJournal(context, undone)) count(page.outcomes);
  count(unheard);
  const documents = preview.create + preview.replace + preview.delete;
  const measured: Measured = {
    documents,
    collections: collections.size,
    borders: [],
    paths: documents <= namedPathsMax ? paths : undefined,
  };
  return { measured, preview };
}

const namedPathsMax = 2000;
