import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { storageCredentialsPurpose } from './open-store.ts';
import { type DestinationRow, storageStore } from './storage-store.ts';

/**
 * The same place as a destination of another organization; its credentials are sealed anew for the new row. A local
 * folder becomes one of the other organization's own.
 */
export async function copyDestination(
  { ids, keyring, clock }: Pick<Platform, 'ids' | 'keyring' | 'clock'>,
  transaction: Transaction,
  row: DestinationRow,
  organizationId: string,
): Promise<DestinationRow> {
  const id = ids.next('dst');
  const now = clock.now();
  const credentials =
    row.credentials === null
      ? null
      : keyring.seal(keyring.open(row.credentials, storageCredentialsPurpose(row.id)), storageCredentialsPurpose(id));
  const path = row.type === 'local' ? `moved/${row.id}` : row.path;
  const copy: DestinationRow = {
    ...row,
    id,
    organizationId,
    path,
    credentials,
    createdAt: now,
    updatedAt: now,
    version: 1,
  };
  await storageStore.insert(transaction, copy);
  return copy;
}
