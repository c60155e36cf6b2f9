import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { AuditLog } from '../../audit/index.ts';
import type { DestinationRow } from '../storage-store.ts';
import { taskStore } from './task-store.ts';

/** Requests a rescan of a destination with backups that the catalogue does not know, unless one is waiting already. */
export async function requestRescan(
  { platform: { clock, ids }, audit }: { platform: Pick<Platform, 'clock' | 'ids'>; audit: AuditLog },
  transaction: Transaction,
  { organizationId, id: storageDestinationId }: DestinationRow,
): Promise<void> {
  const open = await taskStore.openOf(transaction, organizationId, storageDestinationId);
  if (open.some(({ kind, status }) => kind === 'rescan' && status === 'pending')) return;
  const task = await taskStore.insert(transaction, {
    id: ids.next('tsk'),
    organizationId,
    storageDestinationId,
    kind: 'rescan',
    status: 'pending',
    progress: { percent: 0, phase: 'Waiting', documents: 0, bytes: 0, etaSeconds: null },
    createdAt: clock.now(),
  });
  await audit.noteSystem(transaction, organizationId, {
    action: 'storage.rescan_started',
    resource: { type: 'storage_destination', id: storageDestinationId },
    details: { taskId: task.id },
  });
}
