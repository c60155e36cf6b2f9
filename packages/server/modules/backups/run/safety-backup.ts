import { systemActor } from '../../audit/index.ts';
import type { ProjectRow } from '../../projects/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { admitBackups } from './admission.ts';

/** What a restore is about to overwrite. */
export interface Overwritten {
  id: string;
  backupId: string;
  collections: string[] | null;
  includeSubcollections: boolean;
  documentPaths: string[] | null;
  includeAuthUsers: boolean;
}

/** Saves it as a backup of the target, where the restored backup itself lies, so that the restore can be undone. */
export async function startSafetyBackup(
  context: BackupsContext,
  organizationId: string,
  target: ProjectRow,
  restore: Overwritten,
): Promise<string> {
  const { database, ids, clock } = context.platform;
  const id = ids.next('bkp');
  await database.tenant(organizationId, async (transaction) => {
    const source = await backupStore.get(transaction, organizationId, restore.backupId);
    const isPart = restore.collections !== null;
    const now = clock.now();
    await backupStore.insert(
      transaction,
      {
        id,
        organizationId,
        projectId: target.id,
        type: 'full',
        status: 'pending',
        trigger: 'pre_restore',
        collections: restore.collections ?? source.collections,
        excludeCollections: isPart ? [] : source.excludeCollections,
        includeSubcollections: isPart ? restore.includeSubcollections : source.includeSubcollections,
        includeAuthUsers: restore.includeAuthUsers,
        documentPaths: restore.documentPaths,
        storageDestinationId: source.storageDestinationId,
        phase: 'Waiting',
        createdAt: now,
        updatedAt: now,
      },
      [source.storageDestinationId],
    );
    await context.audit.write(transaction, {
      organizationId,
      action: 'backup.created',
      actor: systemActor,
      resource: { type: 'backup', id },
      origin: null,
      details: { projectId: target.id, trigger: 'pre_restore', restoreId: restore.id },
    });
  });
  await admitBackups(context.platform);
  return id;
}
