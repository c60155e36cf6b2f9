import { storageStore } from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import type { RemoveObjects } from '../jobs.ts';
import { removeDeleted } from './remove-deleted.ts';
import { followMoved, removeUnfinished } from './remove-unfinished.ts';
import type { UnknownBackups } from './unknown-backups.ts';

/** The only place that removes the objects of backups that were deleted, failed or were cancelled. */
export async function removeObjects(
  context: BackupsContext,
  unknown: UnknownBackups,
  job: RemoveObjects,
): Promise<void> {
  const { organizationId, backupId } = job.data;
  const found = await context.platform.database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.findAny(transaction, organizationId, backupId);
    if (!row) return undefined;
    const copies = await backupStore.copies(transaction, organizationId, [backupId]);
    const ids = copies.map((copy) => copy.storageDestinationId);
    const destinations = await storageStore.many(transaction, organizationId, ids);
    const known = destinations.filter((destination) => destination.deletedAt === null);
    return { row, destinations: known, forgottenIds: ids.filter((id) => !known.some((one) => one.id === id)) };
  });
  if (!found) return await followMoved(context, job);
  const { row, destinations, forgottenIds } = found;
  if (row.deletedAt !== null) await removeDeleted({ context, unknown, signal: job.signal, ...found });
  else if (row.status === 'failed' || row.status === 'cancelled')
    await removeUnfinished(context, row, { destinations, forgottenIds }, job);
}
