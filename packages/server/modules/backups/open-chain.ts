import { type BackupReader, openChain } from '@holdfast/engine';
import { Problem } from '../../platform/problem.ts';
import { backupStore } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import { loadBackup, openReadable } from './load-backup.ts';

export interface OpenedChain {
  readers: BackupReader[];
  close(): Promise<void>;
}

/** A completed backup and everything it builds on, ready to be read. BACKUP_NOT_FOUND and INVALID_STATE as the API tells them. */
export async function openChainOf(
  context: BackupsContext,
  organizationId: string,
  backupId: string,
  signal: AbortSignal,
): Promise<OpenedChain> {
  const { loaded, ring } = await context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.get(transaction, organizationId, backupId);
    if (row.status !== 'completed')
      throw new Problem('INVALID_STATE', `Only a completed backup can be read; this one is ${row.status}.`, {
        details: { status: row.status },
      });
    const found = await loadBackup(context, transaction, organizationId, backupId);
    return { loaded: found, ring: (await context.keys.ring(transaction, organizationId)).ring };
  });
  if (!loaded) throw new Problem('BACKUP_NOT_FOUND', 'There is no such backup in this organization.');
  const { store } = await openReadable(context, loaded);
  try {
    const readers = await openChain({ store, backupId, keys: ring, pool: context.engine.pool, signal });
    return { readers, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}
