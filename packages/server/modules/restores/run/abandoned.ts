import type { Transaction } from '../../../platform/database/database.ts';
import { hourMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';

/**
 * A lost worker is noticed within seconds. When nobody has worked on a restore for this long, the whole service was
 * down, or the database was restored from an older copy. People have gone on working with the target, and the restore
 * may even have ended since.
 */
const abandonedMs = hourMs;

/** Must be asked before the restore is claimed, because a claim is a sign of life. */
export async function isAbandoned(transaction: Transaction, row: RestoreRow): Promise<boolean> {
  return row.status === 'running' && !row.dryRun && !(await restoreStore.isAlive(transaction, row, abandonedMs));
}

export function abandonedProblem({ heldAt, updatedAt }: Pick<RestoreRow, 'heldAt' | 'updatedAt'>): Problem {
  return new Problem(
    'CANCELLED',
    `Nobody has worked on this restore since ${(heldAt ?? updatedAt).toISOString()}, so it does not go on by itself: what was changed since would be written over. Resume it if it is still wanted.`,
  );
}
