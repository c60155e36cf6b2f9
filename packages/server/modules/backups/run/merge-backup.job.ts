import { EngineError, mergeChain } from '@holdfast/engine';
import { type BackupRow, backupStore } from '../backup-store.ts';
import { type OpenedChain, openAnyCopy } from '../contents/open-chain.ts';
import type { BackupsContext } from '../context.ts';
import { loadBackup } from '../load-backup.ts';
import { scopeOf } from './plan-backup.job.ts';
import { runWhole, type WholeJob, type WholeResult, type WholeWork, writeOnce } from './single-step-backup.ts';

/** Makes a full backup of the project's newest chain, from what lies in storage: the source is not read. */
export async function runMerge(context: BackupsContext, job: WholeJob): Promise<void> {
  await runWhole(context, job, (work) => merge(context, work));
}

async function merge(context: BackupsContext, work: WholeWork): Promise<WholeResult> {
  const { store, keys, signal, loaded } = work;
  const { newest, chain } = loaded.row.standsFor
    ? await openNamedChain(context, loaded.row, loaded.row.standsFor, signal)
    : await openNewestChain(context, loaded.row, signal);
  try {
    await work.expect(chain.readers.at(-1)!.body.counts.documents);
    const written = await writeOnce(context, work, () =>
      mergeChain(chain.readers, {
        store,
        keys,
        signal,
        codec: context.engine.codec,
        backupId: loaded.row.id,
        onProgress: work.show,
      }),
    );
    return { written, change: { snapshots: newest.snapshots } };
  } finally {
    await chain.close();
  }
}

/** The very backup whose place the merged one takes. */
async function openNamedChain(
  context: BackupsContext,
  { organizationId }: BackupRow,
  backupId: string,
  signal: AbortSignal,
): Promise<{ newest: BackupRow; chain: OpenedChain }> {
  const found = await context.platform.database.tenant(organizationId, (transaction) =>
    loadBackup(context, transaction, organizationId, backupId),
  );
  if (!found || found.row.deletedAt) throw new EngineError('INTEGRITY_ERROR', `The backup ${backupId} is gone.`);
  return { newest: found.row, chain: await openAnyCopy(context, found, signal) };
}

/** Of the backups with the scope that is asked for the newest, by what it shows and not by when it was registered. */
export async function openNewestChain(
  context: BackupsContext,
  row: Pick<
    BackupRow,
    'id' | 'organizationId' | 'projectId' | 'collections' | 'excludeCollections' | 'includeSubcollections'
  >,
  signal: AbortSignal,
): Promise<{ newest: BackupRow; chain: OpenedChain }> {
  const { organizationId } = row;
  const found = await context.platform.database.tenant(organizationId, async (transaction) => {
    const completed = await backupStore.newestCompleted(transaction, organizationId, row.projectId, row.id);
    const sameScope = completed.filter((one) => JSON.stringify(scopeOf(one)) === JSON.stringify(scopeOf(row)));
    const newest = (sameScope.length > 0 ? sameScope : asksForAll(row) ? completed : []).toSorted((left, right) =>
      (left.snapshotTime ?? '') < (right.snapshotTime ?? '') ? 1 : -1,
    )[0];
    return newest && (await loadBackup(context, transaction, organizationId, newest.id));
  });
  if (!found)
    throw new EngineError('INTEGRITY_ERROR', 'There is no completed backup of these collections that could be merged.');
  return { newest: found.row, chain: await openAnyCopy(context, found, signal) };
}

function asksForAll(row: Pick<BackupRow, 'collections' | 'excludeCollections'>): boolean {
  return row.collections[0] === '*' && row.excludeCollections.length === 0;
}
