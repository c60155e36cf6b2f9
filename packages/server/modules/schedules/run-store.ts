import type { Transaction } from '../../platform/database/database.ts';
import { and, desc, eq, lte, sql } from '../../platform/database/orm.ts';
import { scheduleRuns } from './tables.ts';

export type RunRow = typeof scheduleRuns.$inferSelect;
export type NewRun = typeof scheduleRuns.$inferInsert;

/** Where a page of runs ended. */
export interface RunPosition {
  dueAt: string;
  id: string;
}

/** All SQL on the runs of schedules. */
export const runStore = {
  async insertAll({ orm }: Transaction, rows: readonly NewRun[]): Promise<void> {
    if (rows.length > 0) await orm.insert(scheduleRuns).values([...rows]);
  },

  /** By due time, the latest first. */
  async list(
    { orm }: Transaction,
    organizationId: string,
    scheduleId: string,
    limit: number,
    before: RunPosition | undefined,
  ): Promise<RunRow[]> {
    const ofIt = and(eq(scheduleRuns.organizationId, organizationId), eq(scheduleRuns.scheduleId, scheduleId));
    const further =
      before && sql`(${scheduleRuns.dueAt}, ${scheduleRuns.id}) < (${before.dueAt}::timestamptz, ${before.id})`;
    return orm
      .select()
      .from(scheduleRuns)
      .where(and(ofIt, further))
      .orderBy(desc(scheduleRuns.dueAt), desc(scheduleRuns.id))
      .limit(limit);
  },

  /** Whether a due time has its run. */
  async isTaken({ client }: Transaction, scheduleId: string, dueAt: Date): Promise<boolean> {
    const { rowCount } = await client.query(
      'select 1 from schedule_runs where schedule_id = $1 and due_at = $2 and not by_hand',
      [scheduleId, dueAt],
    );
    return rowCount === 1;
  },

  async findByBackup({ orm }: Transaction, organizationId: string, backupId: string): Promise<RunRow | undefined> {
    const [row] = await orm
      .select()
      .from(scheduleRuns)
      .where(and(eq(scheduleRuns.organizationId, organizationId), eq(scheduleRuns.backupId, backupId)));
    return row;
  },

  async update({ orm }: Transaction, organizationId: string, id: string, change: Partial<NewRun>): Promise<void> {
    await orm
      .update(scheduleRuns)
      .set(change)
      .where(and(eq(scheduleRuns.organizationId, organizationId), eq(scheduleRuns.id, id)));
  },

  /** Triggered runs whose backup should have begun by now. */
  async lockNotBegun({ orm }: Transaction, now: Date, limit: number): Promise<RunRow[]> {
    return orm
      .select()
      .from(scheduleRuns)
      .where(and(eq(scheduleRuns.status, 'triggered'), lte(scheduleRuns.beginsBefore, now)))
      .orderBy(scheduleRuns.beginsBefore)
      .limit(limit)
      .for('update', { skipLocked: true });
  },

  /** Runs are kept for a while; returns how many went. */
  async removeBefore({ client }: Transaction, before: Date, limit: number): Promise<number> {
    const { rowCount } = await client.query(
      `delete from schedule_runs where ctid = any(array(
         select ctid from schedule_runs where created_at < $1 order by created_at limit $2))`,
      [before, limit],
    );
    return rowCount ?? 0;
  },
};
