import type { Scope } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import type { ProjectRow } from '../../projects/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { scopeColumns } from '../scope.ts';
import { admitBackups } from './admission.ts';
import { cancelBackup } from './end-backup.ts';

/** What a restore is about to overwrite, and where it is saved. */
export interface Overwritten {
  restoreId: string;
  storageDestinationId: string;
  scope: Scope;
  includeAuthUsers: boolean;
}

/** Starts a backup of the target; its record tells exactly what it covers. */
export async function startSafetyBackup(
  context: BackupsContext,
  organizationId: string,
  target: ProjectRow,
  { restoreId, storageDestinationId, scope, includeAuthUsers }: Overwritten,
): Promise<string> {
  const { database, ids, clock } = context.platform;
  const id = ids.next('bkp');
  await database.tenant(organizationId, async (transaction) => {
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
        ...scopeColumns(scope),
        includeAuthUsers,
        storageDestinationId,
        phase: 'Waiting',
        createdAt: now,
        updatedAt: now,
      },
      [storageDestinationId],
    );
    await context.audit.noteSystem(transaction, organizationId, {
      action: 'backup.created',
      resource: { type: 'backup', id },
      details: { projectId: target.id, trigger: 'pre_restore', restoreId },
    });
  });
  await admitBackups(context.platform);
  return id;
}

/**
 * The restore was cancelled before it wrote anything, so nobody needs its safety backup any more. A backup that has
 * ended stays.
 */
export async function stopSafetyBackup(
  context: BackupsContext,
  transaction: Transaction,
  {
    organizationId,
    id: restoreId,
    safetyBackupId,
  }: { organizationId: string; id: string; safetyBackupId: string | null },
): Promise<void> {
  const row = safetyBackupId && (await backupStore.findLocked(transaction, organizationId, safetyBackupId));
  if (!row || !(await cancelBackup(context, transaction, row))) return;
  await context.audit.noteSystem(transaction, organizationId, {
    action: 'backup.cancelled',
    resource: { type: 'backup', id: row.id },
    details: { projectId: row.projectId, restoreId },
  });
}
