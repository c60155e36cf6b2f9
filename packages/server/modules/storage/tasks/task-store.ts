import type { Transaction } from '../../../platform/database/database.ts';
import { and, desc, eq, inArray, lt, or, sql } from '../../../platform/database/orm.ts';
import type { AdmissionTable } from '../../jobs/index.ts';
import { isActiveOrganizationSql } from '../../organizations/index.ts';
import { storageStore } from '../storage-store.ts';
import { storageTasks } from '../tables.ts';

export type TaskRow = typeof storageTasks.$inferSelect;

/** All SQL on the tasks of destinations. */
export const taskStore = {
  async insert({ orm }: Transaction, row: typeof storageTasks.$inferInsert): Promise<TaskRow> {
    const [task] = await orm.insert(storageTasks).values(row).returning();
    return task as TaskRow;
  },

  async list(
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

  async find({ orm }: Transaction, organizationId: string, id: string): Promise<TaskRow | undefined> {
    const [row] = await orm
      .select()
      .from(storageTasks)
      .where(and(eq(storageTasks.organizationId, organizationId), eq(storageTasks.id, id)));
    return row;
  },

  async update(
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

  /** Open tasks on a place or into it, whichever of its records they name. */
  async openOf(transaction: Transaction, organizationId: string, destinationId: string): Promise<TaskRow[]> {
    const { orm } = transaction;
    const records = await storageStore.recordsOfPlaces(transaction, organizationId, [destinationId]);
    const about = or(
      inArray(storageTasks.storageDestinationId, records),
      inArray(storageTasks.toStorageDestinationId, records),
    );
    const open = inArray(storageTasks.status, ['pending', 'running']);
    return orm
      .select()
      .from(storageTasks)
      .where(and(eq(storageTasks.organizationId, organizationId), about, open));
  },

  /** Destinations that an open task works on or moves into. */
  async busyDestinations({ orm }: Transaction, organizationId: string): Promise<string[]> {
    const { storageDestinationId: id, toStorageDestinationId: toId, status } = storageTasks;
    const rows = await orm
      .select({ id, toId })
      .from(storageTasks)
      .where(and(eq(storageTasks.organizationId, organizationId), inArray(status, ['pending', 'running'])));
    return [...new Set(rows.flatMap((row) => (row.toId === null ? [row.id] : [row.id, row.toId])))];
  },

  /** Destinations from or to which anything was ever migrated. */
  async migratedPlaces({ client }: Transaction, organizationId: string): Promise<Set<string>> {
    const { rows } = await client.query<{ id: string }>(
      `select distinct unnest(array[storage_destination_id, to_storage_destination_id]) as id from storage_tasks
        where organization_id = $1 and kind = 'migrate'`,
      [organizationId],
    );
    return new Set(rows.map(({ id }) => id));
  },

  async findLocked({ orm }: Transaction, organizationId: string, id: string): Promise<TaskRow | undefined> {
    const [row] = await orm
      .select()
      .from(storageTasks)
      .where(and(eq(storageTasks.organizationId, organizationId), eq(storageTasks.id, id)))
      .for('update');
    return row;
  },

  /** Counts a transient failure and returns how many there were. */
  async countFailure({ orm }: Transaction, organizationId: string, id: string): Promise<number> {
    const [row] = await orm
      .update(storageTasks)
      .set({ failures: sql`${storageTasks.failures} + 1` })
      .where(and(eq(storageTasks.organizationId, organizationId), eq(storageTasks.id, id)))
      .returning({ failures: storageTasks.failures });
    return row?.failures ?? Number.POSITIVE_INFINITY;
  },
};

/** One task at a time per place; several destinations may be the same place. */
export const taskAdmission: AdmissionTable = {
  table: 'storage_tasks',
  isWaiting: `w.status = 'pending' and w.admitted_at is null`,
  isOpen: `(w.status = 'running' or w.status = 'pending' and w.admitted_at is not null)`,
  place: `(select coalesce(d.place_id, d.id) from storage_destinations d where d.id = w.storage_destination_id)`,
  admittedAt: 'admitted_at',
  isOfActiveOrganization: isActiveOrganizationSql('w.organization_id'),
};
