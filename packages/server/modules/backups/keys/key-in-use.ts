import type { Transaction } from '../../../platform/database/database.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';

/** Whether the key in use opens all of them by itself. While it is the service's own, whoever has that has those before it. */
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
