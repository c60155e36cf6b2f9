/**
 * The time of a backup's data. It decides how old the restored data would be, however late the backup was completed.
 * When a backup has no single read time, its data is at least as new as its start.
 */
export const asOfSql = 'coalesce(snapshot_time::timestamptz, started_at, created_at)';

/** A merge of older backups has a newer id than the backup with the newest data. So this many backups are compared. */
export const newestCandidates = 20;
