/**
 * As of when the data of a backup is: what can be got back is as old as this, however late the backup was completed. Where one
 * instant could not be held it is at least as new as the backup's beginning.
 */
export const asOfSql = 'coalesce(snapshot_time::timestamptz, started_at, created_at)';

/** A merge of older backups has a newer id than the newest backup: so many are looked at to find the newest data. */
export const newestLookedAt = 20;
