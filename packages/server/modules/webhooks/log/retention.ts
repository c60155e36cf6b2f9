import type { Clock } from '../../../platform/clock.ts';
import type { Database, Transaction } from '../../../platform/database/database.ts';
import { dayMs } from '../../../platform/durations.ts';
import { deliveryStore } from './delivery-store.ts';

/** The delivery log is kept this long. */
export const deliveryRetentionDays = 30;
const batchSize = 2000;

/** Removes deliveries that are too old, and then their events, in small steps. */
export async function removeOldDeliveries(database: Database, clock: Clock, signal: AbortSignal): Promise<void> {
  const cut = new Date(clock.now().getTime() - deliveryRetentionDays * dayMs);
  const { removeBefore, removeEventsBefore } = deliveryStore;
  await inBites(database, signal, (transaction) => removeBefore(transaction, cut, batchSize));
  await inBites(database, signal, (transaction) => removeEventsBefore(transaction, cut, batchSize));
}

/** Removes the log of webhooks that were deleted. */
export function removeLogsOfDeleted(database: Database, signal: AbortSignal): Promise<void> {
  return inBites(database, signal, (transaction) => deliveryStore.removeOfDeletedWebhooks(transaction, batchSize));
}

async function inBites(
  database: Database,
  signal: AbortSignal,
  remove: (transaction: Transaction) => Promise<number>,
): Promise<void> {
  let removed = batchSize;
  while (removed === batchSize && !signal.aborted) removed = await database.system(remove);
}
