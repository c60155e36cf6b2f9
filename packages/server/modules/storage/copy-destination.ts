import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { toJobError } from '../job-error.ts';
import { requireRoom } from '../organizations/index.ts';
import { credentialsMissing } from './access/open-store.ts';
import { emitStorageState } from './checks/check-storage.ts';
import { destinationsRoom } from './destinations-room.ts';
import { type DestinationRow, storageStore } from './storage-store.ts';

/**
 * The same place as a destination of another organization. Credentials stay behind: they were given to the organization
 * that has them, not to the other one's members. A local folder needs none, and becomes one of the other's own.
 */
export async function copyDestination(
  platform: Pick<Platform, 'config' | 'ids' | 'clock' | 'outbox'>,
  transaction: Transaction,
  row: DestinationRow,
  organizationId: string,
): Promise<DestinationRow> {
  await requireRoom(transaction, organizationId, destinationsRoom(platform.config), {
    whose: 'The other organization',
  });
  const id = platform.ids.next('dst');
  const now = platform.clock.now();
  const isLocal = row.type === 'local';
  const copy: DestinationRow = {
    ...row,
    id,
    organizationId,
    path: isLocal ? `moved/${row.id}` : row.path,
    credentials: null,
    lastTest: null,
    ...(isLocal ? {} : { status: 'error', error: toJobError(credentialsMissing(id)), lastCheckedAt: now }),
    placeId: null,
    createdAt: now,
    updatedAt: now,
    version: 1,
  };
  await storageStore.insert(transaction, copy);
  if (copy.status === 'error') await emitStorageState(platform.outbox, transaction, copy);
  return copy;
}
