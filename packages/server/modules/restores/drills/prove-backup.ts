import { type BackupReader, connectFirestore, type View, viewOfChain } from '@holdfast/engine';
import { startFirestoreSandbox } from '@holdfast/sandbox';
import { projectStore } from '../../projects/index.ts';
import type { RestoresContext } from '../context.ts';
import type { StoredDrillReport } from '../tables.ts';
import { compareInSlices, type Scratch, type Show } from './compare-slices.ts';
import type { DrillRow } from './drill-store.ts';

/** Restores the backup into a scratch database, or the one that is named, reads it back, and compares. */
export async function proveBackup(
  context: RestoresContext,
  row: DrillRow,
  signal: AbortSignal,
  show: Show,
): Promise<StoredDrillReport> {
  const chain = await context.backups.openChainOf(row.organizationId, row.backupId, signal);
  try {
    const view = viewOfChain(chain.readers);
    const expected = (chain.readers.at(-1) as BackupReader).body.counts.documents;
    const scratch =
      row.targetProjectId === null ? await openScratch(view) : await openNamed(context, row, row.targetProjectId);
    try {
      return await compareInSlices(view, expected, scratch, signal, show);
    } finally {
      await scratch.close();
    }
  } finally {
    await chain.close();
  }
}

/** A Firestore that exists for this drill alone. */
async function openScratch(view: View): Promise<Scratch> {
  const [, project = 'drill', , database = '(default)'] = view.database.split('/');
  const sandbox = await startFirestoreSandbox();
  const firestore = connectFirestore({
    projectId: project,
    databaseId: database,
    connection: { type: 'emulator', host: sandbox.address },
  });
  return {
    firestore,
    clear: () => sandbox.control.clear({ project, database }),
    close: async () => {
      await firestore.close();
      await sandbox.stop();
    },
  };
}

async function openNamed(context: RestoresContext, row: DrillRow, targetProjectId: string): Promise<Scratch> {
  const target = await context.platform.database.tenant(row.organizationId, (transaction) =>
    projectStore.get(transaction, row.organizationId, targetProjectId),
  );
  const firestore = await context.sources.open(target);
  return { firestore, close: () => firestore.close() };
}
