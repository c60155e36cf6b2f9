import { type BackupReader, writeIncrement } from '@holdfast/engine';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { BackupKeyRing } from '../keys/backup-keys.ts';
import { isUnderKeyInUse } from '../keys/key-in-use.ts';
import type { LoadedBackup } from '../load-backup.ts';
import { scopeOf } from '../scope.ts';
import { findParent } from './find-parent.ts';
import { makeAndComplete, type SingleStep, writeOnce } from './single-step-backup.ts';

/**
 * Makes an increment from the changes captured since its parent, if capture had no gap since then. The source is not
 * read. False when the source has to be scanned.
 */
export async function incrementFromLog(context: BackupsContext, step: SingleStep): Promise<boolean> {
  const { loaded, signal } = step;
  const { row } = loaded;
  const database = row.type === 'incremental' ? await context.capturedDatabase(row) : undefined;
  if (database === undefined) return false;
  const { chain } = await findParent(context, loaded, { database }, scopeOf(row), signal);
  if (!chain) return false;
  try {
    const captured = await context.capturedSince(row, chain, signal);
    if (!captured) return false;
    try {
      const keysInUse = await holdParent(context, loaded, chain);
      if (!keysInUse) return false;
      await makeAndComplete(context, { ...step, keys: keysInUse }, async (work) => {
        await work.expect(captured.documentCount);
        const { store, keys } = work;
        const changes = captured.view.layers.slice(chain.length);
        const options = {
          store,
          keys,
          signal,
          codec: context.engine.codec,
          backupId: row.id,
          trigger: row.trigger,
          log: captured.logId,
          onProgress: work.show,
        };
        const increment = { chain, changes, snapshotTime: captured.instant };
        return { written: await writeOnce(context, work, () => writeIncrement(increment, options)) };
      });
      return true;
    } finally {
      await captured.close();
    }
  } finally {
    await chain[0]?.store.close();
  }
}

/**
 * From here on the parent cannot be removed. The increment is made with the keys that are in use now. Undefined when a
 * new key, which does not open the parent, came into use after the parent was chosen.
 */
async function holdParent(
  context: BackupsContext,
  { row }: LoadedBackup,
  chain: readonly BackupReader[],
): Promise<BackupKeyRing | undefined> {
  const chainIds = chain.map(({ backupId }) => backupId);
  const parentId = chainIds.at(-1)!;
  return context.platform.database.tenant(row.organizationId, async (transaction) => {
    await context.organizations.hold(transaction, row.organizationId);
    if (!(await isUnderKeyInUse(context, transaction, row.organizationId, chainIds))) return undefined;
    await backupStore.holdParent(transaction, row, parentId);
    await backupStore.update(transaction, row.organizationId, row.id, { parentId });
    return BackupKeyRing.loadIn(context, transaction, row.organizationId);
  });
}
