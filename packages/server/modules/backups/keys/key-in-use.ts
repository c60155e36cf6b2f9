import type { Transaction } from '../../../platform/database/database.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';

/**
 * Whether the key in use alone opens all of these backups. While that is the service's own key, its owner also has the
 * keys before it.
 */
export async function isUnderKeyInUse(
  { keys }: Pick<BackupsContext, 'keys'>,
  transaction: Transaction,
  organizationId: string,
  backupIds: readonly string[],
): Promise<boolean> {
  const { currentKeyId, isCustomers } = await keys.ring(transaction, organizationId);
  if (!isCustomers) return true;
  for (const backupId of backupIds) {
    const row = await backupStore.find(transaction, organizationId, backupId);
    if (row && row.keyId !== currentKeyId) return false;
  }
  return true;
}
