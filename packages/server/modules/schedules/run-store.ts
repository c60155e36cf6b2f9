import type { Transaction } from '../../platform/database/database.ts';
import { and, desc, eq, lte, sql } from '../../platform/database/orm.ts';
import { scheduleRuns } from './tables.ts';

export type RunRow = typeof scheduleRuns.$inferSelect;
export type NewRun = typeof scheduleRuns.$inferInsert;

export interface DueTime {
  scheduleId: string;
  dueAt: Date;
}

/**
 * A due time that was recorded as missed or skipped at a time that has not come yet: a clock had jumped ahead and came
 * back. It is still due.
 */
const isForetold = 'r.backup_id is null and r.created_at > $3';

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

  /** Which of these due times have a run. Runs that a clock recorded ahead of time are removed. */
  async taken({ client }: Transaction, dueTimes: readonly DueTime[], now: Date): Promise<DueTime[]> {
    const values = [dueTimes.map(({ scheduleId }) => scheduleId), dueTimes.map(({ dueAt }) => dueAt), now];
    const { rows } = await client.query<DueTime>(
      `with asked as (select * from unnest($1::text[], $2::timestamptz[]) as d (schedule_id, due_at)),
            gone as (delete from schedule_runs r using asked d
                      where r.schedule_id = d.schedule_id and r.due_at = d.due_at and not r.by_hand and ${isForetold}
                      returning r.id)
       select r.schedule_id as "scheduleId", r.due_at as "dueAt" from schedule_runs r
         join asked d on r.schedule_id = d.schedule_id and r.due_at = d.due_at
        where not r.by_hand and r.id not in (select id from gone)`,
      values,
    );
    return rows;
  },

  /** Whether a due time has a run. */
  async isTaken({ client }: Transaction, scheduleId: string, dueAt: Date, now: Date): Promise<boolean> {
    const { rowCount } = await client.query(
      `select 1 from schedule_runs r
        where r.schedule_id = $1 and r.due_at = $2 and not r.by_hand and not (${isForetold})`,
      [scheduleId, dueAt, now],
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

  /** Removes old runs; returns how many. */
  async removeBefore({ client }: Transaction, before: Date, limit: number): Promise<number> {
    const { rowCount } = await client.query(
      `delete from schedule_runs where ctid = any(array(
         select ctid from schedule_runs where created_at < $1 order by created_at limit $2))`,
      [before, limit],
    );
    return rowCount ?? 0;
  },
};
