import type { Transaction } from '../../../platform/database/database.ts';
import type { ImportRequest, JobStatus } from '../tables.ts';

/** Statements on where the copies of backups lie, for the tasks that look after destinations. */

export interface KnownCopy {
  organizationId: string;
  status: JobStatus;
  deletedAt: Date | null;
  imported: ImportRequest | null;
  /** Null for a backup without copies. */
  copyStatus: string | null;
  storageDestinationId: string | null;
}

export const copyStore = {
  /** In all organizations, because one bucket may be a destination of several. */
  async ofBackup({ client }: Transaction, backupId: string): Promise<KnownCopy[]> {
    const { rows } = await client.query<KnownCopy>(
      `select b.organization_id as "organizationId", b.status, b.deleted_at as "deletedAt", b.imported,
              c.status as "copyStatus", c.storage_destination_id as "storageDestinationId"
         from backups b left join backup_copies c on c.backup_id = b.id
        where b.id = $1`,
      [backupId],
    );
    return rows;
  },

  /** Also one that was deleted and whose objects are still going, and one of another organization. */
  async isKnown({ client }: Transaction, backupId: string): Promise<boolean> {
    const { rowCount } = await client.query('select 1 from backups where id = $1', [backupId]);
    return rowCount !== 0;
  },

  async completedIn(
    { client }: Transaction,
    organizationId: string,
    destinationId: string,
  ): Promise<{ id: string; bytes: number }[]> {
    const { rows } = await client.query<{ id: string; bytes: string | null }>(
      `select b.id, b.compressed_size as bytes from backups b join backup_copies c on c.backup_id = b.id
        where b.organization_id = $1 and c.storage_destination_id = $2 and c.status = 'completed'
          and b.status = 'completed' and b.deleted_at is null order by b.id`,
      [organizationId, destinationId],
    );
    return rows.map((row) => ({ id: row.id, bytes: Number(row.bytes ?? 0) }));
  },

  /** The same, held until the end of the transaction. */
  async lockCompletedIn({ client }: Transaction, organizationId: string, destinationId: string): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      `select c.backup_id as id from backup_copies c join backups b on b.id = c.backup_id and b.status = 'completed' and b.deleted_at is null
        where c.organization_id = $1 and c.storage_destination_id = $2 and c.status = 'completed' for update of c`,
      [organizationId, destinationId],
    );
    return rows.map(({ id }) => id);
  },

  /** From now on these backups lie in the other destination. */
  async moveCopies(
    { client }: Transaction,
    organizationId: string,
    { fromId, toId, backupIds, lockedUntil, now }: MovedCopies,
  ): Promise<void> {
    const ids = [...backupIds];
    await client.query(
      'delete from backup_copies where organization_id = $1 and storage_destination_id = $2 and backup_id = any($3)',
      [organizationId, toId, ids],
    );
    await client.query(
      `update backup_copies set storage_destination_id = $3, error = null
        where organization_id = $1 and storage_destination_id = $2 and backup_id = any($4) and status = 'completed'`,
      [organizationId, fromId, toId, ids],
    );
    await client.query(
      `update backups set storage_destination_id = case when storage_destination_id = $2 then $3 else storage_destination_id end,
              locked_until = greatest(locked_until, $5), version = version + 1, updated_at = $6
        where organization_id = $1 and id = any($4)`,
      [organizationId, fromId, toId, ids, lockedUntil, now],
    );
  },

  /** Backups that have a copy in the one destination and none in the other. */
  async onlyIn({ client }: Transaction, organizationId: string, inId: string, notInId: string): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      `select c.backup_id as id from backup_copies c
        where c.organization_id = $1 and c.storage_destination_id = $2 and c.status = 'completed'
          and not exists (select 1 from backup_copies o where o.backup_id = c.backup_id and o.storage_destination_id = $3)`,
      [organizationId, inId, notInId],
    );
    return rows.map(({ id }) => id);
  },

  async deletedAmong({ client }: Transaction, organizationId: string, backupIds: Iterable<string>): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      'select id from backups where organization_id = $1 and deleted_at is not null and id = any($2)',
      [organizationId, [...backupIds]],
    );
    return rows.map(({ id }) => id);
  },

  /** Every destination of an organization with the backups that have a copy there. */
  async byDestination({ client }: Transaction, organizationId: string): Promise<Map<string, string[]>> {
    const { rows } = await client.query<{ id: string; backupIds: string[] }>(
      `select storage_destination_id as id, json_agg(backup_id order by backup_id) as "backupIds"
         from backup_copies where organization_id = $1 group by storage_destination_id`,
      [organizationId],
    );
    return new Map(rows.map(({ id, backupIds }) => [id, backupIds]));
  },
};

export interface MovedCopies {
  fromId: string;
  toId: string;
  backupIds: readonly string[];
  lockedUntil: Date | null;
  now: Date;
}
