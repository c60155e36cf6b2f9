import type { RestoreRow } from '../restore-store.ts';
import type { Irreversible } from '../tables.ts';

/** What an undo of the restore would leave as it is. Said before, by a dry run, and afterwards, of what was done. */
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

/** The same of what a restore has done so far, whether it ends well or not: accounts are written for good all the same. */
export function irreversibleSoFar(row: RestoreRow): Irreversible[] {
  if (row.dryRun) return [];
  const { imported, unheard } = row.checkpoint.users ?? { imported: 0 };
  return irreversibleReasons(row, {
    accounts: imported + (unheard?.accounts ?? 0),
    overwritten: row.documentsRestored + row.documentsDeleted,
  });
}
