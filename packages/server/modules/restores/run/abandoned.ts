import type { Transaction } from '../../../platform/database/database.ts';
import { hourMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';

/**
 * A lost worker is noticed within seconds. A restore that nobody has worked on for this long was lost with the whole service, or
 * comes from a database of an older day: people have gone on working with what it writes into, and it may have ended since.
 */
const abandonedMs = hourMs;

/** Asked before the restore is claimed, which is a sign of life. */
export async function isAbandoned(transaction: Transaction, row: RestoreRow): Promise<boolean> {
  return row.status === 'running' && !row.dryRun && !(await restoreStore.isAlive(transaction, row, abandonedMs));
}

export function abandoned({ heldAt, updatedAt }: Pick<RestoreRow, 'heldAt' | 'updatedAt'>): Problem {
  return new Problem(
    'CANCELLED',
    `Nobody has worked on this restore since ${(heldAt ?? updatedAt).toISOString()}, so it does not go on by itself: what was changed since would be written over. Resume it if it is still wanted.`,
  );
}
