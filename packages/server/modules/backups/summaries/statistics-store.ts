import type { Transaction } from '../../../platform/database/database.ts';
import { and, eq, sql } from '../../../platform/database/orm.ts';
import type { ProjectStatistics } from '../../projects/index.ts';
import { type StorageProject, type StorageUsage, storageStore, type UsedBy } from '../../storage/index.ts';
import { backupCopies, backups, type JobStatus } from '../tables.ts';
import { asOfSql } from './as-of-sql.ts';
import { isNotForeign } from './foreign-sql.ts';

/** What backups say about projects, destinations and the organization. All of it is read, nothing written. */

/**
 * SQL for the number of copies of a backup; several records of one place count once. Takes two parameters: ids of
 * records and their places.
 */
function copiesSql(parameter: number): string {
  return `(select count(distinct coalesce(p.place, c.storage_destination_id)) from backup_copies c
            left join unnest($${parameter}::text[], $${parameter + 1}::text[]) as p(id, place) on p.id = c.storage_destination_id
           where c.backup_id = b.id and c.status = 'completed')`;
}

async function placesOf(transaction: Transaction, organizationId: string): Promise<[string[], string[]]> {
  const rows = await storageStore.all(transaction, organizationId);
  return [rows.map(({ id }) => id), rows.map(({ id, placeId }) => placeId ?? id)];
}

/** A safety backup holds what one restore overwrote, and says nothing of the project. */
const isOrdinary = `trigger <> 'pre_restore'`;

export async function projectStatistics(
  transaction: Transaction,
  organizationId: string,
  projectIds: readonly string[],
): Promise<Map<string, ProjectStatistics>> {
  if (projectIds.length === 0) return new Map();
  const { rows } = await transaction.client.query<{
    project_id: string;
    count: string;
    bytes: string;
    documents: string | null;
    last_at: Date | null;
    as_of: Date | null;
    last_status: JobStatus | null;
  }>(
    `select project_id,
            count(*) filter (where status = 'completed') as count,
            coalesce(sum(compressed_size * copies) filter (where status = 'completed'), 0) as bytes,
            (array_agg(document_count order by ${asOfSql} desc, id desc) filter (where status = 'completed' and ${isOrdinary}))[1] as documents,
            (array_agg(completed_at order by ${asOfSql} desc, id desc) filter (where status = 'completed' and ${isOrdinary} and ${isNotForeign}))[1] as last_at,
            max(${asOfSql}) filter (where status = 'completed' and ${isOrdinary} and ${isNotForeign}) as as_of,
            (array_agg(status order by id desc) filter (where ${isOrdinary} and stands_for is null))[1] as last_status
       from (select b.*, ${copiesSql(3)} as copies
               from backups b where b.organization_id = $1 and b.project_id = any($2) and b.deleted_at is null) as known
      group by project_id`,
    [organizationId, [...projectIds], ...(await placesOf(transaction, organizationId))],
  );
  return new Map(
    rows.map((row) => [
      row.project_id,
      {
        backupCount: Number(row.count),
        storageUsed: Number(row.bytes),
        documentCount: row.documents === null ? null : Number(row.documents),
        lastBackupAt: row.last_at?.toISOString() ?? null,
        newestSnapshotTime: row.as_of?.toISOString() ?? null,
        lastBackupStatus: row.last_status,
      },
    ]),
  );
}

export async function storageUsage(
  { orm }: Transaction,
  organizationId: string,
  destinationIds: readonly string[],
): Promise<Map<string, StorageUsage>> {
  if (destinationIds.length === 0) return new Map();
  const rows = await orm
    .select({
      id: backupCopies.storageDestinationId,
      count: sql<string>`count(*)`,
      bytes: sql<string>`coalesce(sum(${backups.compressedSize}), 0)`,
    })
    .from(backupCopies)
    .innerJoin(backups, eq(backups.id, backupCopies.backupId))
    .where(
      and(
        eq(backupCopies.organizationId, organizationId),
        eq(backupCopies.status, 'completed'),
        eq(backups.status, 'completed'),
        sql`${backups.deletedAt} is null`,
      ),
    )
    .groupBy(backupCopies.storageDestinationId);
  return new Map(
    rows
      .filter((row) => destinationIds.includes(row.id))
      .map((row) => [row.id, { backups: Number(row.count), bytes: Number(row.bytes) }]),
  );
}

/** What each project has stored in a destination. */
export async function backupsByProject(
  { client }: Transaction,
  organizationId: string,
  destinationId: string,
): Promise<Map<string, Pick<StorageProject, 'backups' | 'bytes' | 'newestBackupAt'>>> {
  const { rows } = await client.query<{ project_id: string; backups: string; bytes: string; newest_at: Date }>(
    `select b.project_id, count(*) as backups, coalesce(sum(b.compressed_size), 0) as bytes,
            max(coalesce(b.snapshot_time::timestamptz, b.created_at)) as newest_at
       from backup_copies c join backups b on b.id = c.backup_id
      where c.organization_id = $1 and c.storage_destination_id = $2 and c.status = 'completed'
        and b.status = 'completed' and b.deleted_at is null
      group by b.project_id`,
    [organizationId, destinationId],
  );
  return new Map(
    rows.map((row) => [
      row.project_id,
      { backups: Number(row.backups), bytes: Number(row.bytes), newestBackupAt: row.newest_at.toISOString() },
    ]),
  );
}

export async function organizationTotals(
  transaction: Transaction,
  organizationId: string,
): Promise<{ backupCount: number; storageUsed: number }> {
  const { rows } = await transaction.client.query<{ count: string; bytes: string }>(
    `select count(*) as count,
            coalesce(sum(b.compressed_size * ${copiesSql(2)}), 0) as bytes
       from backups b
      where b.organization_id = $1 and b.deleted_at is null and b.status = 'completed'`,
    [organizationId, ...(await placesOf(transaction, organizationId))],
  );
  return { backupCount: Number(rows[0]?.count ?? 0), storageUsed: Number(rows[0]?.bytes ?? 0) };
}

/** One of the organization's backups that is under legal hold. */
export async function heldBackup({ client }: Transaction, organizationId: string): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    'select id from backups where organization_id = $1 and legal_hold and deleted_at is null order by id limit 1',
    [organizationId],
  );
  return rows[0]?.id;
}

/** Average size of a document in the newest full backup of the project. */
export async function bytesPerDocument(
  { client }: Transaction,
  organizationId: string,
  projectId: string,
): Promise<number | undefined> {
  const { rows } = await client.query<{ average: number | null }>(
    `select size::float8 / nullif(document_count, 0) as average from backups
      where organization_id = $1 and project_id = $2 and status = 'completed' and type <> 'incremental' and deleted_at is null
      order by id desc limit 1`,
    [organizationId, projectId],
  );
  return rows[0]?.average ?? undefined;
}

export async function runningJobs(
  { client }: Transaction,
  organizationId: string,
  projectId: string,
): Promise<{ type: string; id: string }[]> {
  const { rows } = await client.query<{ id: string; status: JobStatus }>(
    `select id, status from backups where organization_id = $1 and project_id = $2 and deleted_at is null
        and (status in ('pending', 'running') or verification->>'status' = 'running') limit 100`,
    [organizationId, projectId],
  );
  return rows.map(({ id, status }) => ({ type: status === 'completed' ? 'verification' : 'backup', id }));
}

export async function usersOfDestination(
  { client }: Transaction,
  organizationId: string,
  destinationId: string,
): Promise<UsedBy[]> {
  const { rows } = await client.query<{ id: string }>(
    `select b.id from backup_copies c join backups b on b.id = c.backup_id
      where c.organization_id = $1 and c.storage_destination_id = $2 and (b.deleted_at is null or b.status in ('pending', 'running')) and b.status in ('pending', 'running', 'completed')
        and c.status <> 'failed'
      order by b.id desc limit 100`,
    [organizationId, destinationId],
  );
  return rows.map(({ id }) => ({ type: 'backup', id }));
}

/** Backups that are being made in a destination, or lie there. */
export async function backupsIn(
  { client }: Transaction,
  organizationId: string,
  destinationId: string,
): Promise<{ id: string; status: JobStatus }[]> {
  const { rows } = await client.query<{ id: string; status: JobStatus }>(
    `select b.id, b.status from backup_copies c join backups b on b.id = c.backup_id
      where c.organization_id = $1 and c.storage_destination_id = $2 and b.deleted_at is null
        and b.status in ('pending', 'running', 'completed') order by b.id`,
    [organizationId, destinationId],
  );
  return rows;
}
