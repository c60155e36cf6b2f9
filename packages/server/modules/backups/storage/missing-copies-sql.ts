/**
 * Of two backups by their ids: the one that takes the place of the other did not get into a destination where that one has a good
 * copy. Whoever asked for two places would be left with one.
 */
export function missesCopies(replacementId: string, replacedId: string): string {
  return `exists (
    select 1 from backup_copies missing join backup_copies good on good.storage_destination_id = missing.storage_destination_id
     where missing.backup_id = ${replacementId} and missing.status = 'failed'
       and good.backup_id = ${replacedId} and good.status = 'completed')`;
}
