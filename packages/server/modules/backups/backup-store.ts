import type { Database, Transaction } from '../../platform/database/database.ts';
import { encodeJson } from '../../platform/database/json.ts';
import { and, asc, desc, eq, inArray, isNotNull, isNull, lt, sql } from '../../platform/database/orm.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { type RowBeside, rowsWhere } from '../../platform/database/statement.ts';
import { Problem } from '../../platform/problem.ts';
import { projectStore } from '../projects/index.ts';
import { storageSummarySql } from '../storage/index.ts';
import { missesCopies } from './storage/missing-copies-sql.ts';
import { isNotForeign } from './summaries/foreign-sql.ts';
import { backupCopies, backups } from './tables.ts';

export type BackupRow = typeof backups.$inferSelect;
export type NewBackup = typeof backups.$inferInsert;
export type CopyRow = typeof backupCopies.$inferSelect;
/** With its copies and its destination. */
export type ShownBackup = RowBeside<typeof backups, typeof beside>;

const copiesOfBackups = rowsWhere(
  backupCopies,
  and(
    eq(backupCopies.organizationId, sql.placeholder('organizationId')),
    sql`${backupCopies.backupId} = any(${sql.placeholder('backupIds')})`,
  ),
  { orderBy: asc(backupCopies.position) },
);
/** Shown together with a backup. */
const beside = {
  copies: sql<Pick<CopyRow, 'storageDestinationId' | 'status' | 'error'>[]>`(
    select coalesce(jsonb_agg(jsonb_build_object('storageDestinationId', c.storage_destination_id, 'status', c.status,
             'error', c.error) order by c.position), '[]')
      from backup_copies c where c.organization_id = backups.organization_id and c.backup_id = backups.id)`,
  destination: storageSummarySql('backups.organization_id', 'backups.storage_destination_id'),
};
const byId = and(eq(backups.organizationId, sql.placeholder('organizationId')), eq(backups.id, sql.placeholder('id')));
const undeletedById = and(byId, isNull(backups.deletedAt));
const oneOfAny = rowsWhere(backups, byId);
const oneBackup = rowsWhere(backups, undeletedById);
const oneLocked = rowsWhere(backups, undeletedById, { lock: 'update' });
const oneShown = rowsWhere(backups, undeletedById, { beside });

/** A backup that has not begun; `insertAll` writes exactly these columns. */
export type WaitingBackup = Pick<
  NewBackup,
  | 'id'
  | 'organizationId'
  | 'projectId'
  | 'scheduleId'
  | 'type'
  | 'trigger'
  | 'collections'
  | 'excludeCollections'
  | 'includeSubcollections'
  | 'includeAuthUsers'
  | 'storageDestinationId'
  | 'standsFor'
  | 'retainedSince'
  | 'retentionDays'
  | 'phase'
  | 'createdAt'
  | 'updatedAt'
> & { status: 'pending' };

const inSnakeCase = (row: object) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  );

/** One copy per destination, in the given order. */
const pendingCopies = (row: Pick<NewBackup, 'id' | 'organizationId'>, destinationIds: readonly string[]) =>
  destinationIds.map((storageDestinationId, position) => ({
    organizationId: row.organizationId,
    backupId: row.id,
    storageDestinationId,
    position,
    status: 'pending' as const,
  }));

/** A completed backup and the time of its data. */
export type BackupInTime = Pick<
  BackupRow,
  'id' | 'type' | 'collections' | 'excludeCollections' | 'includeSubcollections' | 'documentPaths'
> & { snapshotTime: string };

/** All SQL on backups and their copies. Deleted backups are not found. */
export const backupStore = {
  async insert(transaction: Transaction, row: NewBackup, destinationIds: readonly string[]): Promise<BackupRow> {
    const { orm } = transaction;
    await projectStore.hold(transaction, [row]);
    const [inserted] = await orm.insert(backups).values(row).returning();
    await orm.insert(backupCopies).values(pendingCopies(row, destinationIds));
    return found(inserted);
  },

  /** Many at once, each with its destinations in the order of their ids. */
  async insertAll(
    transaction: Transaction,
    rows: readonly { row: WaitingBackup; destinationIds: readonly string[] }[],
  ): Promise<void> {
    if (rows.length === 0) return;
    const { orm, client } = transaction;
    await projectStore.hold(
      transaction,
      rows.map(({ row }) => row),
    );
    const columns = `id, organization_id, project_id, schedule_id, type, status, trigger, collections, exclude_collections,
      include_subcollections, include_auth_users, storage_destination_id, stands_for, retained_since, retention_days,
      phase, created_at, updated_at`;
    // One parameter for all of them: thousands of due times come in one minute.
    await client.query(
      `insert into backups (${columns}) select ${columns} from jsonb_populate_recordset(null::backups, $1)`,
      [encodeJson(rows.map(({ row }) => inSnakeCase(row)))],
    );
    const copies = rows.flatMap(({ row, destinationIds }) => pendingCopies(row, destinationIds));
    await orm.insert(backupCopies).values(copies);
  },

  page: pagesOf(backups, {
    beside,
    always: isNull(backups.deletedAt),
    filters: {
      projectId: eq(backups.projectId, sql.placeholder('projectId')),
      status: eq(backups.status, sql.placeholder('status')),
      type: eq(backups.type, sql.placeholder('type')),
      trigger: eq(backups.trigger, sql.placeholder('trigger')),
      scheduleId: eq(backups.scheduleId, sql.placeholder('scheduleId')),
      storageDestinationId: sql`exists (select 1 from ${backupCopies} c
        where c.organization_id = ${backups.organizationId} and c.backup_id = ${backups.id}
          and c.storage_destination_id = ${sql.placeholder('storageDestinationId')}
          and (c.status = 'completed' or ${backups.status} <> 'completed'))`,
    },
    createdAt: backups.createdAt,
  }),

  async get(transaction: Transaction, organizationId: string, id: string): Promise<BackupRow> {
    return found(await backupStore.find(transaction, organizationId, id));
  },

  async find({ client }: Transaction, organizationId: string, id: string): Promise<BackupRow | undefined> {
    const [row] = await client.read(oneBackup, { organizationId, id });
    return row;
  },

  /** Finds deleted backups too: their objects may still have to be removed. */
  async findAny({ client }: Transaction, organizationId: string, id: string): Promise<BackupRow | undefined> {
    const [row] = await client.read(oneOfAny, { organizationId, id });
    return row;
  },

  async lock(transaction: Transaction, organizationId: string, id: string): Promise<BackupRow> {
    return found(await backupStore.findLocked(transaction, organizationId, id));
  },

  /** The same for work whose record may be gone. */
  async findLocked({ client }: Transaction, organizationId: string, id: string): Promise<BackupRow | undefined> {
    const [row] = await client.read(oneLocked, { organizationId, id });
    return row;
  },

  /** Keeps these backups from being deleted until the transaction ends; throws when one is already gone. */
  async hold({ orm }: Transaction, organizationId: string, ids: readonly string[]): Promise<void> {
    const wanted = and(inArray(backups.id, [...ids]), eq(backups.organizationId, organizationId));
    const kept = and(wanted, isNull(backups.deletedAt));
    const rows = await orm.select({ id: backups.id }).from(backups).where(kept).orderBy(backups.id).for('key share');
    if (rows.length < new Set(ids).size) found(undefined);
  },

  async update(
    { orm }: Transaction,
    organizationId: string,
    id: string,
    change: Partial<NewBackup>,
  ): Promise<BackupRow> {
    const [row] = await orm
      .update(backups)
      .set({ ...change, version: sql`${backups.version} + 1` })
      .where(and(eq(backups.organizationId, organizationId), eq(backups.id, id)))
      .returning();
    return found(row);
  },

  /** Counts a transient failure and returns how many there were. */
  async countFailure({ orm }: Transaction, organizationId: string, id: string): Promise<number> {
    const [row] = await orm
      .update(backups)
      .set({ failures: sql`${backups.failures} + 1` })
      .where(is(organizationId, id))
      .returning({ failures: backups.failures });
    return row?.failures ?? Number.POSITIVE_INFINITY;
  },

  /** Keeps the parent: whoever deletes or moves it waits for this transaction and then sees the increment. */
  async holdParent({ client }: Transaction, row: BackupRow, parentId: string): Promise<void> {
    const { rowCount } = await client.query(
      `select 1 from backups b join backup_copies c on c.backup_id = b.id
        where b.id = $1 and b.organization_id = $2 and b.deleted_at is null and b.status = 'completed'
          and c.storage_destination_id = $3 and c.status = 'completed'
          for update of b, c`,
      [parentId, row.organizationId, row.storageDestinationId],
    );
    if (rowCount === 0) throw new Error('the parent was deleted or moved while the increment was planned');
  },

  /** Whether the project has, or will have, a backup that a merge can begin with. One that is still being made counts. */
  async hasMergeable({ client }: Transaction, organizationId: string, projectId: string): Promise<boolean> {
    const { rowCount } = await client.query(
      `select 1 from backups where organization_id = $1 and project_id = $2 and deleted_at is null
          and status in ('pending', 'running', 'completed') and trigger <> 'pre_restore' and ${isNotForeign} limit 1`,
      [organizationId, projectId],
    );
    return rowCount !== 0;
  },

  /** Completed backups of these projects by the time of their data, newest first, starting after `before`. */
  async completedBefore(
    { client }: Transaction,
    organizationId: string,
    projectIds: readonly string[],
    before: { snapshotTime: string; id: string } | null,
    limit: number,
  ): Promise<BackupInTime[]> {
    const { rows } = await client.query<BackupInTime>(
      `select id, type, snapshot_time as "snapshotTime", collections, exclude_collections as "excludeCollections",
              include_subcollections as "includeSubcollections", document_paths as "documentPaths" from backups
        where organization_id = $1 and project_id = any($2) and status = 'completed' and deleted_at is null
          and snapshot_time is not null and ($3::text is null or (snapshot_time, id) < ($3, $4))
        order by snapshot_time desc, id desc limit $5`,
      [organizationId, projectIds, before?.snapshotTime ?? null, before?.id ?? null, limit],
    );
    return rows;
  },

  /** The newest completed backups that an increment or a merge may build on, of any scope. */
  async newestCompleted(
    { orm }: Transaction,
    organizationId: string,
    projectId: string,
    before: string,
  ): Promise<BackupRow[]> {
    return orm
      .select()
      .from(backups)
      .where(
        and(
          eq(backups.organizationId, organizationId),
          eq(backups.projectId, projectId),
          eq(backups.status, 'completed'),
          isNull(backups.deletedAt),
          lt(backups.id, before),
          sql`${backups.trigger} <> 'pre_restore'`,
          // Backups made from foreign files have no document times, so nothing can be built on them.
          sql.raw(isNotForeign),
          // Its data is older than its id suggests.
          isNull(backups.standsFor),
        ),
      )
      .orderBy(desc(backups.id))
      .limit(20);
  },

  /** Every envelope of an organization, for a rotation. */
  async envelopes(
    { orm }: Transaction,
    organizationId: string,
  ): Promise<Pick<BackupRow, 'id' | 'envelope' | 'keyId'>[]> {
    return orm
      .select({ id: backups.id, envelope: backups.envelope, keyId: backups.keyId })
      .from(backups)
      .where(and(eq(backups.organizationId, organizationId), isNull(backups.deletedAt), isNotNull(backups.envelope)));
  },

  async setEnvelope(
    { orm }: Transaction,
    organizationId: string,
    id: string,
    change: Pick<NewBackup, 'envelope' | 'keyId'>,
  ): Promise<void> {
    await orm
      .update(backups)
      .set(change)
      .where(and(eq(backups.organizationId, organizationId), eq(backups.id, id)));
  },

  /**
   * Everything that builds on a backup, at any depth. For each increment it names the merged backup of the same moment,
   * if there is one. An increment in the middle of a merged chain has none: its changes live on, its moment does not.
   */
  async descendants(
    { client }: Transaction,
    organizationId: string,
    id: string,
  ): Promise<{ id: string; mergedInto: string | null }[]> {
    const { rows } = await client.query<{ id: string; merged_into: string | null }>(
      `with recursive alive as (
         select id, parent_id, snapshot_time from backups
          where organization_id = $1 and deleted_at is null and status in ('pending', 'running', 'completed')
       ), below as (
         select id, snapshot_time from alive where parent_id = $2
         union select alive.id, alive.snapshot_time from alive join below on alive.parent_id = below.id
       )
       select below.id, (select s.id from backups s
                          where s.organization_id = $1 and s.type = 'synthetic' and s.status = 'completed'
                            and s.deleted_at is null and s.merged_from ? below.id
                            and s.snapshot_time = below.snapshot_time
                            and s.verification->>'status' is distinct from 'failed'
                            and not ${missesCopies('s.id', 'below.id')} limit 1) as merged_into
         from below order by below.id desc limit 10000`,
      [organizationId, id],
    );
    return rows.map((row) => ({ id: row.id, mergedInto: row.merged_into }));
  },

  async copies({ client }: Transaction, organizationId: string, backupIds: readonly string[]): Promise<CopyRow[]> {
    if (backupIds.length === 0) return [];
    return client.read(copiesOfBackups, { organizationId, backupIds });
  },

  /** One backup with everything that is shown, read outside a transaction. */
  async shown(database: Database, organizationId: string, id: string): Promise<ShownBackup> {
    const [row] = await database.read(organizationId, oneShown, { organizationId, id });
    return found(row);
  },

  /** Moves a backup to another organization; the transaction spans both. */
  async moveTo(
    { orm }: Transaction,
    id: string,
    organizationId: string,
    change: Pick<NewBackup, 'storageDestinationId' | 'envelope' | 'keyId' | 'updatedAt'>,
  ): Promise<void> {
    await orm
      .update(backups)
      .set({ ...change, organizationId, version: sql`${backups.version} + 1` })
      .where(eq(backups.id, id));
  },

  /** `destinations`: old id → new id. */
  async moveCopiesTo(
    { orm }: Transaction,
    backupIds: readonly string[],
    organizationId: string,
    destinations: ReadonlyMap<string, string>,
  ): Promise<void> {
    for (const [from, storageDestinationId] of destinations)
      await orm
        .update(backupCopies)
        .set({ organizationId, storageDestinationId })
        .where(and(inArray(backupCopies.backupId, [...backupIds]), eq(backupCopies.storageDestinationId, from)));
  },

  /** Removes the row, once its objects are gone. */
  async purge({ orm }: Transaction, organizationId: string, id: string): Promise<void> {
    await orm.delete(backups).where(and(eq(backups.organizationId, organizationId), eq(backups.id, id)));
  },

  async updateCopy(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
    destinationId: string,
    change: Partial<CopyRow>,
  ): Promise<void> {
    await orm
      .update(backupCopies)
      .set(change)
      .where(
        and(
          eq(backupCopies.organizationId, organizationId),
          eq(backupCopies.backupId, backupId),
          eq(backupCopies.storageDestinationId, destinationId),
        ),
      );
  },
};

function is(organizationId: string, id: string) {
  return and(eq(backups.organizationId, organizationId), eq(backups.id, id), isNull(backups.deletedAt));
}

function found<Row extends BackupRow>(row: Row | undefined): Row {
  if (!row) throw new Problem('BACKUP_NOT_FOUND', 'There is no such backup in this organization.');
  return row;
}

export function backupEtag(row: BackupRow): string {
  return `"${row.id}-${row.version}"`;
}
