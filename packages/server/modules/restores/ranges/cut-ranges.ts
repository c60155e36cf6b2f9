import type { RestoresContext } from '../context.ts';
import { restoreStore } from '../restore-store.ts';
import type { RestoreTracker } from '../run/restore-tracker.ts';
import { superseded } from '../run/write-tracker.ts';
import { rangeStore } from './range-store.ts';
import { nothingWritten } from './written.ts';

/**
 * Splits a large restore into ranges before anything is written. A restore with a journal may have been written to
 * without ranges, and goes on without them.
 */
export async function cutRanges(
  { platform }: RestoresContext,
  tracker: RestoreTracker,
  borders: readonly string[],
): Promise<void> {
  const { row } = tracker;
  if (borders.length === 0 || tracker.isRanged || row.journalEnvelope !== null) return;
  await platform.database.tenant(row.organizationId, async (transaction) => {
    if (!(await restoreStore.lockHeld(transaction, row))) throw superseded();
    await rangeStore.insertAll(transaction, row, borders);
    await restoreStore.save(transaction, row, { rangesEpoch: row.epoch, ownWritten: nothingWritten });
  });
  // Makes the tracker load the current row.
  await tracker.save({});
}
