import { and, asc, desc, eq, getTableColumns, gte, inArray, isNull, lt, sql } from 'drizzle-orm';
import type { Database, Transaction } from '../../platform/database/database.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { selection } from '../../platform/database/statement.ts';
import { Problem } from '../../platform/problem.ts';
import { backupCopies, backupRanges, backups } from './tables.ts';

export type BackupRow = typeof backups.$inferSelect;
export type NewBackup = typeof backups.$inferInsert;
export type CopyRow = typeof backupCopies.$inferSelect;
export type RangeRow = typeof backupRanges.$inferSelect;

const copiesOfBackups = selection(getTableColumns(backupCopies), (select) =>
  select
    .from(backupCopies)
    .where(
      and(
        eq(backupCopies.organizationId, sql.placeholder('organizationId')),
        sql`${backupCopies.backupId} = any(${sql.placeholder('backupIds')})`,
      ),
    )
    .orderBy(asc(backupCopies.position)),
);

/** All SQL on backups and their copies. Deleted backups are not found. */
export const backupStore = {
  async insert({ orm }: Transaction, row: NewBackup, destinationIds: readonly string[]): Promise<BackupRow> {
    const [inserted] = await orm.insert(backups).values(row).returning();
    await orm.insert(backupCopies).values(
      destinationIds.map((storageDestinationId, position) => ({
        organizationId: row.organizationId,
        backupId: row.id,
        storageDestinationId,
        position,
        status: 'pending' as const,
      })),
    );
    return found(inserted);
  },

  /** Many at once, each with its destinations in the order of their ids. */
  async insertAll(
    { orm }: Transaction,
    rows: readonly { row: NewBackup; destinationIds: readonly string[] }[],
  ): Promise<void> {
    if (rows.length === 0) return;
    await orm.insert(backups).values(rows.map(({ row }) => row));
    const copies = rows.flatMap(({ row, destinationIds }) =>
      destinationIds.map((storageDestinationId, position) => ({
        organizationId: row.organizationId,
        backupId: row.id,
        storageDestinationId,
        position,
        status: 'pending' as const,
      })),
    );
    await orm.insert(backupCopies).values(copies);
  },

  /** Those of the schedules that have a backup waiting or running; the transaction may span organizations. */
  async busySchedules({ client }: Transaction, scheduleIds: readonly string[]): Promise<Set<string>> {
    const { rows } = await client.query<{ schedule_id: string }>(
      `select distinct schedule_id from backups
        where schedule_id = any($1) and status in ('pending', 'running') and deleted_at is null`,
      [[...scheduleIds]],
    );
    return new Set(rows.map((row) => row.schedule_id));
  },

  page: pagesOf(backups, {
    always: isNull(backups.deletedAt),
    filters: {
      projectId: eq(backups.projectId, sql.placeholder('projectId')),
      status: eq(backups.status, sql.placeholder('status')),
      type: eq(backups.type, sql.placeholder('type')),
      trigger: eq(backups.trigger, sql.placeholder('trigger')),
      scheduleId: eq(backups.scheduleId, sql.placeholder('scheduleId')),
      from: gte(backups.createdAt, sql.placeholder('from')),
      to: lt(backups.createdAt, sql.placeholder('to')),
    },
  }),

  async get({ orm }: Transaction, organizationId: string, id: string): Promise<BackupRow> {
    const [row] = await orm.select().from(backups).where(is(organizationId, id));
    return found(row);
  },

  async find({ orm }: Transaction, organizationId: string, id: string): Promise<BackupRow | undefined> {
    const [row] = await orm.select().from(backups).where(is(organizationId, id));
    return row;
  },

  /** Also when it was deleted: its objects may still have to go. */
  async findAny({ orm }: Transaction, organizationId: string, id: string): Promise<BackupRow | undefined> {
    const [row] = await orm
      .select()
      .from(backups)
      .where(and(eq(backups.organizationId, organizationId), eq(backups.id, id)));
    return row;
  },

  async lock({ orm }: Transaction, organizationId: string, id: string): Promise<BackupRow> {
    const [row] = await orm.select().from(backups).where(is(organizationId, id)).for('update');
    return found(row);
  },

  /** All of a project, newest first. */
  async lockAll({ orm }: Transaction, organizationId: string, projectId: string): Promise<BackupRow[]> {
    return orm
      .select()
      .from(backups)
      .where(
        and(eq(backups.organizationId, organizationId), eq(backups.projectId, projectId), isNull(backups.deletedAt)),
      )
      .orderBy(desc(backups.id))
      .for('update');
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

  /** The newest completed backup of a project that an increment with this scope can build on. */
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
          // It shows an older state than its id tells.
          isNull(backups.standsFor),
        ),
      )
      .orderBy(desc(backups.id))
      .limit(20);
  },

  /** Everything that builds on a backup, at any depth; an increment that was merged says into what. */
  async descendants(
    { client }: Transaction,
    organizationId: string,
    id: string,
  ): Promise<{ id: string; mergedInto: string | null }[]> {
    const { rows } = await client.query<{ id: string; merged_into: string | null }>(
      `with recursive alive as (
         select id, parent_id from backups
          where organization_id = $1 and deleted_at is null and status in ('pending', 'running', 'completed')
       ), below as (
         select id from alive where parent_id = $2
         union select alive.id from alive join below on alive.parent_id = below.id
       )
       select below.id, (select s.id from backups s
                          where s.organization_id = $1 and s.type = 'synthetic' and s.status = 'completed'
                            and s.deleted_at is null and s.merged_from ? below.id limit 1) as merged_into
         from below order by below.id desc limit 10000`,
      [organizationId, id],
    );
    return rows.map((row) => ({ id: row.id, mergedInto: row.merged_into }));
  },

  async copies({ orm }: Transaction, organizationId: string, backupIds: readonly string[]): Promise<CopyRow[]> {
    if (backupIds.length === 0) return [];
    return orm
      .select()
      .from(backupCopies)
      .where(and(eq(backupCopies.organizationId, organizationId), inArray(backupCopies.backupId, [...backupIds])))
      .orderBy(asc(backupCopies.position));
  },

  /** The same for a list of backups, as a read of its own. */
  copiesOf(database: Database, organizationId: string, backupIds: readonly string[]): Promise<CopyRow[]> {
    return database.read(organizationId, copiesOfBackups, { organizationId, backupIds });
  },

  /** For good, once its objects are gone. */
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

/** All SQL on the ranges of a backup. */
export const rangeStore = {
  async insertAll(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
    ranges: number,
    now: Date,
  ): Promise<void> {
    const rows = Array.from({ length: ranges }, (_, range) => ({ organizationId, backupId, range, updatedAt: now }));
    await orm.insert(backupRanges).values(rows).onConflictDoNothing();
  },

  /** The caller is now the one that works on the range; whoever did before finds its epoch outdated. */
  async claim(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
    range: number,
  ): Promise<RangeRow | undefined> {
    const [row] = await orm
      .update(backupRanges)
      .set({ epoch: sql`${backupRanges.epoch} + 1` })
      .where(
        and(
          eq(backupRanges.organizationId, organizationId),
          eq(backupRanges.backupId, backupId),
          eq(backupRanges.range, range),
        ),
      )
      .returning();
    return row;
  },

  /** False when another worker has claimed the range since. */
  async save(
    { orm }: Transaction,
    row: RangeRow,
    change: Partial<
      Pick<RangeRow, 'state' | 'documents' | 'bytes' | 'reads' | 'isComplete' | 'failures' | 'updatedAt'>
    >,
  ): Promise<boolean> {
    const saved = await orm
      .update(backupRanges)
      .set(change)
      .where(
        and(
          eq(backupRanges.organizationId, row.organizationId),
          eq(backupRanges.backupId, row.backupId),
          eq(backupRanges.range, row.range),
          eq(backupRanges.epoch, row.epoch),
        ),
      )
      .returning({ range: backupRanges.range });
    return saved.length > 0;
  },

  async list({ orm }: Transaction, organizationId: string, backupId: string): Promise<RangeRow[]> {
    return orm
      .select()
      .from(backupRanges)
      .where(and(eq(backupRanges.organizationId, organizationId), eq(backupRanges.backupId, backupId)))
      .orderBy(asc(backupRanges.range));
  },

  async totals(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
  ): Promise<{ documents: number; bytes: number; reads: number; open: number; claims: number }> {
    const [row] = await orm
      .select({
        documents: sql<string>`coalesce(sum(${backupRanges.documents}), 0)`,
        bytes: sql<string>`coalesce(sum(${backupRanges.bytes}), 0)`,
        reads: sql<string>`coalesce(sum(${backupRanges.reads}), 0)`,
        open: sql<string>`count(*) filter (where not ${backupRanges.isComplete})`,
        claims: sql<string>`coalesce(max(${backupRanges.epoch}), 0)`,
      })
      .from(backupRanges)
      .where(and(eq(backupRanges.organizationId, organizationId), eq(backupRanges.backupId, backupId)));
    return {
      documents: Number(row?.documents),
      bytes: Number(row?.bytes),
      reads: Number(row?.reads),
      open: Number(row?.open),
      claims: Number(row?.claims),
    };
  },

  async clear({ orm }: Transaction, organizationId: string, backupId: string): Promise<void> {
    await orm
      .delete(backupRanges)
      .where(and(eq(backupRanges.organizationId, organizationId), eq(backupRanges.backupId, backupId)));
  },
};

function is(organizationId: string, id: string) {
  return and(eq(backups.organizationId, organizationId), eq(backups.id, id), isNull(backups.deletedAt));
}

function found(row: BackupRow | undefined): BackupRow {
  if (!row) throw new Problem('BACKUP_NOT_FOUND', 'There is no such backup in this organization.');
  return row;
}

export function backupEtag(row: BackupRow): string {
  return `"${row.id}-${row.version}"`;
}
