import type { Transaction } from '../../../platform/database/database.ts';
import type { StoredError } from '../../job-error.ts';
import type { DestinationRow, ExpectedBackup } from '../../storage/index.ts';
import type { ImportRequest, JobStatus } from '../tables.ts';

/** A backup as the catalogue knows it, whichever organization it belongs to. */
export interface KnownBackup {
  organizationId: string;
  status: JobStatus;
  isDeleted: boolean;
  imported: ImportRequest | null;
  /** Destinations with a copy, as the catalogue says; failed copies are left out. */
  destinationIds: readonly string[];
}

/** SQL on where the copies of backups lie. */
export const copyStore = {
  /** Several organizations may use the same bucket, so this asks about all of them. */
  async findAnywhere({ client }: Transaction, backupId: string): Promise<KnownBackup | undefined> {
    const { rows } = await client.query<KnownBackup>(
      `select b.organization_id as "organizationId", b.status, b.deleted_at is not null as "isDeleted", b.imported,
              array(select c.storage_destination_id from backup_copies c
                     where c.backup_id = b.id and c.status <> 'failed' order by c.position) as "destinationIds"
         from backups b where b.id = $1`,
      [backupId],
    );
    return rows[0];
  },

  /** Which of these whole backups have no record, or have one that says they failed. */
  async unknownAmong({ client }: Transaction, backupIds: readonly string[]): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      `select given.id from unnest($1::text[]) as given(id) left join backups b on b.id = given.id
        where b.id is null or b.status in ('failed', 'cancelled') and b.deleted_at is null`,
      [[...backupIds]],
    );
    return rows.map(({ id }) => id);
  },

  /**
   * For a backup that ended without a result: all its copies are failed. Those that failed by themselves keep their
   * reason.
   */
  async failAll(
    { client }: Transaction,
    organizationId: string,
    backupId: string,
    error: StoredError | null,
  ): Promise<void> {
    await client.query(
      `update backup_copies set status = 'failed', error = $3
        where organization_id = $1 and backup_id = $2 and status <> 'failed'`,
      [organizationId, backupId, error],
    );
  },

  /**
   * Completed backups with a good copy in a destination, oldest first, so that parents come before their increments.
   */
  async completedIn(
    { client }: Transaction,
    { organizationId, id }: DestinationRow,
  ): Promise<{ id: string; parentId: string | null; bytes: number }[]> {
    const { rows } = await client.query<{ id: string; parentId: string | null; bytes: string | null }>(
      `select b.id, b.parent_id as "parentId", b.compressed_size as bytes from backups b join backup_copies c on c.backup_id = b.id
        where b.organization_id = $1 and c.storage_destination_id = $2 and c.status = 'completed'
          and b.status = 'completed' and b.deleted_at is null order by b.id`,
      [organizationId, id],
    );
    return rows.map(({ id, parentId, bytes }) => ({ id, parentId, bytes: Number(bytes ?? 0) }));
  },

  /** The newest of them, then deleted ones whose objects are still to be removed. */
  async newestIn(
    { client }: Transaction,
    organizationId: string,
    id: string,
    limit: number,
  ): Promise<ExpectedBackup[]> {
    const { rows } = await client.query<ExpectedBackup>(
      `select b.id, b.deleted_at is not null as "isDeleted" from backups b join backup_copies c on c.backup_id = b.id
        where b.organization_id = $1 and c.storage_destination_id = $2 and c.status = 'completed'
          and b.status = 'completed' order by 2, b.id desc limit $3`,
      [organizationId, id, limit],
    );
    return rows;
  },

  /** Locks the good copies in a destination, so that none of them is moved before the transaction ends. */
  async lockIn({ client }: Transaction, { organizationId, id }: DestinationRow): Promise<string[]> {
    const { rows } = await client.query<{ backup_id: string }>(
      `select c.backup_id from backup_copies c join backups b on b.id = c.backup_id and b.status = 'completed' and b.deleted_at is null
        where c.organization_id = $1 and c.storage_destination_id = $2 and c.status = 'completed' for update of c`,
      [organizationId, id],
    );
    return rows.map((row) => row.backup_id);
  },

  /** Moves the good copies of these backups to another destination, with the locks that they have there. */
  async move(
    { client }: Transaction,
    from: DestinationRow,
    to: DestinationRow,
    backupIds: readonly string[],
    { now, lockedUntil, lockingIds }: { now: Date; lockedUntil: Date | null; lockingIds: readonly string[] },
  ): Promise<void> {
    const { organizationId } = from;
    await client.query(
      'delete from backup_copies where organization_id = $1 and storage_destination_id = $2 and backup_id = any($3)',
      [organizationId, to.id, [...backupIds]],
    );
    await client.query(
      `update backup_copies set storage_destination_id = $3, error = null, locked_until = null
        where organization_id = $1 and storage_destination_id = $2 and backup_id = any($4) and status = 'completed'`,
      [organizationId, from.id, to.id, [...backupIds]],
    );
    // For a copy whose lock was never extended, only the lock time of the whole backup is known.
    await client.query(
      `update backups b set storage_destination_id = case when storage_destination_id = $2 then $3 else storage_destination_id end,
              locked_until = greatest($5, (
                select case when bool_or(c.locked_until is null and c.storage_destination_id = any($7)) then b.locked_until
                            else max(c.locked_until) end
                  from backup_copies c
                 where c.backup_id = b.id and c.status = 'completed' and c.storage_destination_id <> $3)),
              version = version + 1, updated_at = $6
        where organization_id = $1 and id = any($4)`,
      [organizationId, from.id, to.id, [...backupIds], lockedUntil, now, [...lockingIds]],
    );
  },

  /** Removes records of copies that named the same objects, which have moved. */
  async unlink(
    { client }: Transaction,
    organizationId: string,
    destinationIds: readonly string[],
    backupIds: readonly string[],
  ): Promise<void> {
    await client.query(
      'delete from backup_copies where organization_id = $1 and storage_destination_id = any($2) and backup_id = any($3)',
      [organizationId, [...destinationIds], [...backupIds]],
    );
  },

  /** Backups with a good copy in one destination, and with no copy in any of the others. */
  async onlyIn({ client }: Transaction, there: DestinationRow, notIn: readonly string[]): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      `select c.backup_id as id from backup_copies c join backups b on b.id = c.backup_id
        where c.organization_id = $1 and c.storage_destination_id = $2 and c.status = 'completed'
          and b.status = 'completed' and b.deleted_at is null
          and not exists (select 1 from backup_copies o where o.backup_id = c.backup_id and o.storage_destination_id = any($3))
        order by c.backup_id`,
      [there.organizationId, there.id, [...notIn]],
    );
    return rows.map(({ id }) => id);
  },

  /** Records a good copy in this destination. The backup is read from there when its former place has lost it. */
  async link(
    { client }: Transaction,
    { organizationId, id }: DestinationRow,
    backupId: string,
    { now, lockedUntil }: { now: Date; lockedUntil: Date | null },
  ): Promise<void> {
    await client.query(
      `insert into backup_copies (organization_id, backup_id, storage_destination_id, position, status)
       values ($1, $2, $3, (select coalesce(max(position), -1) + 1 from backup_copies where backup_id = $2), 'completed')
       on conflict (backup_id, storage_destination_id) do update set status = 'completed', error = null, locked_until = null`,
      [organizationId, backupId, id],
    );
    await client.query(
      `update backups b set version = version + 1, updated_at = $4, locked_until = greatest(locked_until, $5),
              storage_destination_id = case when exists (
                select 1 from backup_copies c where c.backup_id = b.id and c.storage_destination_id = b.storage_destination_id
                   and c.status = 'completed') then b.storage_destination_id else $3 end
        where b.organization_id = $1 and b.id = $2`,
      [organizationId, backupId, id, now, lockedUntil],
    );
  },

  /** Records until when the copy in this destination is locked. A backup is locked as long as any of its copies. */
  async prolong(
    { client }: Transaction,
    { organizationId, id }: DestinationRow,
    backupId: string,
    lockedUntil: Date,
  ): Promise<void> {
    await client.query(
      `update backup_copies set locked_until = $4
        where organization_id = $1 and backup_id = $2 and storage_destination_id = $3`,
      [organizationId, backupId, id, lockedUntil],
    );
    await client.query(
      `update backups set locked_until = greatest(locked_until, $3), version = version + 1
        where organization_id = $1 and id = $2`,
      [organizationId, backupId, lockedUntil],
    );
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

  /** The good backups in these destinations, of any organization. For a system transaction. */
  async inAny(
    { client }: Transaction,
    destinationIds: readonly string[],
  ): Promise<{ id: string; organizationId: string }[]> {
    const { rows } = await client.query<{ id: string; organizationId: string }>(
      `select distinct b.id, b.organization_id as "organizationId" from backups b join backup_copies c on c.backup_id = b.id
        where c.storage_destination_id = any($1) and c.status <> 'failed' and b.status = 'completed' and b.deleted_at is null
        order by b.id`,
      [[...destinationIds]],
    );
    return rows;
  },

  /** The longest time that a backup of the organization was ever given, in milliseconds. */
  async longestJobMs({ client }: Transaction, organizationId: string): Promise<number> {
    const { rows } = await client.query<{ ms: number | null }>(
      `select (max(extract(epoch from deadline_at - started_at)) * 1000)::float8 as ms from backups
        where organization_id = $1`,
      [organizationId],
    );
    return rows[0]?.ms ?? 0;
  },
};
