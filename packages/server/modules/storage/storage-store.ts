import { and, desc, eq, getTableColumns, inArray, isNull, lt, or, sql } from 'drizzle-orm';
import type { Database, Transaction } from '../../platform/database/database.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { selection } from '../../platform/database/statement.ts';
import { Problem } from '../../platform/problem.ts';
import { storageDestinations, storageTasks } from './tables.ts';

export type DestinationRow = typeof storageDestinations.$inferSelect;
export type NewDestination = typeof storageDestinations.$inferInsert;
export type TaskRow = typeof storageTasks.$inferSelect;

const manyDestinations = selection(getTableColumns(storageDestinations), (select) =>
  select
    .from(storageDestinations)
    .where(
      and(
        eq(storageDestinations.organizationId, sql.placeholder('organizationId')),
        sql`${storageDestinations.id} = any(${sql.placeholder('ids')})`,
      ),
    ),
);

/** All SQL on the destinations of an organization and their tasks. */
export const storageStore = {
  async insert({ orm }: Transaction, row: NewDestination): Promise<void> {
    await orm.insert(storageDestinations).values(row);
  },

  page: pagesOf(storageDestinations, { always: isNull(storageDestinations.deletedAt) }),

  async get({ orm }: Transaction, organizationId: string, id: string): Promise<DestinationRow> {
    const [row] = await orm.select().from(storageDestinations).where(is(organizationId, id));
    return found(row);
  },

  async find({ orm }: Transaction, organizationId: string, id: string): Promise<DestinationRow | undefined> {
    const [row] = await orm.select().from(storageDestinations).where(is(organizationId, id));
    return row;
  },

  async many({ orm }: Transaction, organizationId: string, ids: readonly string[]): Promise<DestinationRow[]> {
    if (ids.length === 0) return [];
    return orm
      .select()
      .from(storageDestinations)
      .where(and(eq(storageDestinations.organizationId, organizationId), inArray(storageDestinations.id, [...ids])));
  },

  /** Which of them exist, in any organization. */
  async existing({ orm }: Transaction, ids: readonly string[]): Promise<{ id: string; organizationId: string }[]> {
    return orm
      .select({ id: storageDestinations.id, organizationId: storageDestinations.organizationId })
      .from(storageDestinations)
      .where(and(inArray(storageDestinations.id, [...ids]), isNull(storageDestinations.deletedAt)));
  },

  /** The same as a read of its own. */
  manyOf(database: Database, organizationId: string, ids: readonly string[]): Promise<DestinationRow[]> {
    return database.read(organizationId, manyDestinations, { organizationId, ids });
  },

  async lock({ orm }: Transaction, organizationId: string, id: string): Promise<DestinationRow> {
    const [row] = await orm.select().from(storageDestinations).where(is(organizationId, id)).for('update');
    return found(row);
  },

  async update({ orm }: Transaction, row: DestinationRow, change: Partial<NewDestination>): Promise<DestinationRow> {
    const [updated] = await orm
      .update(storageDestinations)
      .set({ ...change, version: row.version + 1 })
      .where(and(eq(storageDestinations.organizationId, row.organizationId), eq(storageDestinations.id, row.id)))
      .returning();
    return found(updated);
  },

  async insertTask({ orm }: Transaction, row: typeof storageTasks.$inferInsert): Promise<TaskRow> {
    const [task] = await orm.insert(storageTasks).values(row).returning();
    return task as TaskRow;
  },

  async listTasks(
    { orm }: Transaction,
    organizationId: string,
    destinationId: string,
    limit: number,
    before: string | undefined,
  ): Promise<TaskRow[]> {
    const ofIt = and(
      eq(storageTasks.organizationId, organizationId),
      eq(storageTasks.storageDestinationId, destinationId),
    );
    return orm
      .select()
      .from(storageTasks)
      .where(before ? and(ofIt, lt(storageTasks.id, before)) : ofIt)
      .orderBy(desc(storageTasks.id))
      .limit(limit);
  },

  async findTask({ orm }: Transaction, organizationId: string, id: string): Promise<TaskRow | undefined> {
    const [row] = await orm
      .select()
      .from(storageTasks)
      .where(and(eq(storageTasks.organizationId, organizationId), eq(storageTasks.id, id)));
    return row;
  },

  async updateTask(
    { orm }: Transaction,
    organizationId: string,
    id: string,
    change: Partial<typeof storageTasks.$inferInsert>,
  ): Promise<void> {
    await orm
      .update(storageTasks)
      .set(change)
      .where(and(eq(storageTasks.organizationId, organizationId), eq(storageTasks.id, id)));
  },

  /** Tasks on a destination, or into it. */
  async runningTasks({ orm }: Transaction, organizationId: string, destinationId: string): Promise<TaskRow[]> {
    const about = or(
      eq(storageTasks.storageDestinationId, destinationId),
      eq(storageTasks.toStorageDestinationId, destinationId),
    );
    const open = inArray(storageTasks.status, ['pending', 'running']);
    return orm
      .select()
      .from(storageTasks)
      .where(and(eq(storageTasks.organizationId, organizationId), about, open));
  },
};

function is(organizationId: string, id: string) {
  return and(
    eq(storageDestinations.organizationId, organizationId),
    eq(storageDestinations.id, id),
    isNull(storageDestinations.deletedAt),
  );
}

function found(row: DestinationRow | undefined): DestinationRow {
  if (!row)
    throw new Problem('STORAGE_DESTINATION_NOT_FOUND', 'There is no such storage destination in this organization.');
  return row;
}

export function destinationEtag(row: DestinationRow): string {
  return `"${row.id}-${row.version}"`;
}
