import type { RestoreRow } from '../restore-store.ts';
import type { Irreversible } from '../tables.ts';

/**
 * What an undo of the restore could not take back. Reported before, by a dry run, and afterwards, for what was done.
 */
export function irreversibleReasons(
  { safetyBackup, undoOf }: Pick<RestoreRow, 'safetyBackup' | 'undoOf'>,
  { overwritten, accounts }: { overwritten: number; accounts: number },
): Irreversible[] {
  const reasons = [
    {
      reason: 'User accounts are written without being saved first: nobody hands out their password hashes again.',
      count: accounts,
    },
    {
      reason: 'Without a safety backup nothing is saved of what is overwritten or deleted.',
      count: safetyBackup || undoOf !== null ? 0 : overwritten,
    },
  ];
  return reasons.filter(({ count }) => count > 0);
}

/** The same for what a restore has done so far, whether it ends well or not: written accounts cannot be taken back. */
export function irreversibleSoFar(row: RestoreRow): Irreversible[] {
  if (row.dryRun) return [];
  const { imported, unheard } = row.checkpoint.users ?? { imported: 0 };
  return irreversibleReasons(row, {
    accounts: imported + (unheard?.accounts ?? 0),
    overwritten: row.documentsRestored + row.documentsDeleted,
  });
}
