import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { toJobError } from '../job-error.ts';
import { requireBelowLimit } from '../organizations/index.ts';
import { credentialsMissing } from './access/open-store.ts';
import { emitStorageState } from './checks/check-storage.ts';
import { destinationsLimit } from './destinations-limit.ts';
import { type DestinationRow, storageStore } from './storage-store.ts';

/**
 * Makes the same place a destination of another organization, without its credentials: they were not given to the
 * members of that organization. A local folder needs none, and becomes a folder of the other organization.
 */
export async function copyDestination(
  platform: Pick<Platform, 'config' | 'ids' | 'clock' | 'outbox'>,
  transaction: Transaction,
  row: DestinationRow,
  organizationId: string,
): Promise<DestinationRow> {
  await requireBelowLimit(transaction, organizationId, destinationsLimit(platform.config), {
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
