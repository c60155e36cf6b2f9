/**
 * Whether a replacement failed to reach a destination where the replaced backup has a good copy. Whoever asked for two
 * places would be left with one. Takes two SQL expressions for backup ids.
 */
export function missesCopies(replacementId: string, replacedId: string): string {
  return `exists (
    select 1 from backup_copies missing join backup_copies good on good.storage_destination_id = missing.storage_destination_id
     where missing.backup_id = ${replacementId} and missing.status = 'failed'
       and good.backup_id = ${replacedId} and good.status = 'completed')`;
}
