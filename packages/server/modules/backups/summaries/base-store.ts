import type { Transaction } from '../../../platform/database/database.ts';
import { and, desc, eq, lte } from '../../../platform/database/orm.ts';
import { withdrawnKeysSql } from '../../organizations/index.ts';
import type { BackupRow } from '../backup-store.ts';
import { isDamagedSql } from '../contents/verification-store.ts';
import { backups } from '../tables.ts';

/** A backup of the whole database, on top of which captured changes may be applied. */
export interface WholeBackup {
  id: string;
  snapshotTime: string;
  logId: string | null;
  documentCount: number;
  trigger: BackupRow['trigger'];
  snapshots: BackupRow['snapshots'];
  /** Neither it nor its parents were found damaged or have a withdrawn key. */
  isSound: boolean;
}

/** Whether a row is a completed backup of the whole database. */
function isWholeSql(table: string): string {
  return `${table}.status = 'completed' and ${table}.deleted_at is null and ${table}.imported is null
          and ${table}.collections = '["*"]' and ${table}.exclude_collections = '[]' and ${table}.document_paths is null
          and ${table}.include_subcollections`;
}

/**
 * Whether a project, named by a row of another table, has such a backup, read at one instant, for which the condition
 * holds.
 */
export function hasBaseSql(owner: string, condition: (snapshotTime: string, logId: string) => string): string {
  return `exists (select 1 from backups b
                where b.organization_id = ${owner}.organization_id and b.project_id = ${owner}.project_id
                  and ${isWholeSql('b')} and jsonb_array_length(b.snapshots) <= 1 and ${condition('b.snapshot_time', 'b.log_id')})`;
}

/** Backups of a project that cannot be read now, and all that build on them. */
const unsoundSql = `with recursive unsound as (
    select b.id from backups b
     where b.organization_id = $1 and b.project_id = $2 and b.status = 'completed' and b.deleted_at is null
       and (${isDamagedSql}
            or b.key_id in ${withdrawnKeysSql('$1')})
    union select c.id from backups c join unsound on c.parent_id = unsound.id where c.organization_id = $1)`;

/** SQL on backups that a log of changes begins with, or that were made from one. */
export const baseStore = {
  /** Completed backups of the whole database by snapshot time, oldest first. */
  async wholeBetween(
    { client }: Transaction,
    organizationId: string,
    projectId: string,
    from: string,
    through: string,
  ): Promise<WholeBackup[]> {
    const { rows } = await client.query(
      `${unsoundSql}
       select id, snapshot_time as "snapshotTime", log_id as "logId", document_count::float8 as "documentCount", trigger, snapshots,
              id not in (select id from unsound) as "isSound" from backups
        where organization_id = $1 and project_id = $2 and ${isWholeSql('backups')} and snapshot_time >= $3 and snapshot_time <= $4
        order by snapshot_time`,
      [organizationId, projectId, from, through],
    );
    return rows;
  },

  /** The newest backups that point-in-time recovery asked for, up to a moment, whatever became of them. */
  async newestForLog(
    { orm }: Transaction,
    organizationId: string,
    projectId: string,
    limit: number,
    until?: Date,
  ): Promise<BackupRow[]> {
    const isAsked = and(
      eq(backups.organizationId, organizationId),
      eq(backups.projectId, projectId),
      eq(backups.trigger, 'pitr'),
      until && lte(backups.createdAt, until),
    );
    return orm.select().from(backups).where(isAsked).orderBy(desc(backups.id)).limit(limit);
  },

  /** The bases of a removed log have no more use: they expire after this many days, like other backups. */
  async expireWithLog(
    { client }: Transaction,
    organizationId: string,
    projectId: string,
    days: number,
    expiresAt: Date,
  ): Promise<void> {
    await client.query(
      `update backups set retention_days = $3, version = version + 1,
              expires_at = case when status = 'completed' then $4::timestamptz end
        where organization_id = $1 and project_id = $2 and trigger = 'pitr' and deleted_at is null
          and status in ('pending', 'running', 'completed') and retention_days is null and expires_at is null`,
      [organizationId, projectId, days, expiresAt],
    );
  },

  /** Whether a backup that may be made from captured changes shows a later state than `instant`, or is being made. */
  async mayBeOfLogAfter(
    { client }: Transaction,
    organizationId: string,
    projectId: string,
    instant: string,
  ): Promise<boolean> {
    const { rowCount } = await client.query(
      `select 1 from backups where organization_id = $1 and project_id = $2 and deleted_at is null
          and type in ('synthetic', 'incremental') and imported is null
          and (status in ('pending', 'running') or (status = 'completed' and reads_used = 0 and snapshot_time > $3))
        limit 1`,
      [organizationId, projectId, instant],
    );
    return rowCount !== 0;
  },

  /** Adds a warning to backups that were made from captured changes and show a state in this time. */
  async warnOfLogBetween(
    { client }: Transaction,
    organizationId: string,
    projectId: string,
    { from, through, warning }: { from: string; through: string; warning: string },
  ): Promise<void> {
    await client.query(
      `update backups set warnings = warnings || to_jsonb($5::text), version = version + 1
        where organization_id = $1 and project_id = $2 and deleted_at is null and status = 'completed'
          and type in ('synthetic', 'incremental') and imported is null and reads_used = 0
          and snapshot_time > $3 and snapshot_time <= $4`,
      [organizationId, projectId, from, through, warning],
    );
  },
};
