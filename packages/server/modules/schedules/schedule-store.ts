import type { Transaction } from '../../platform/database/database.ts';
import { encodeJson } from '../../platform/database/json.ts';
import { and, desc, eq, getTableColumns, sql } from '../../platform/database/orm.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { Problem } from '../../platform/problem.ts';
import { isActiveOrganizationSql } from '../organizations/index.ts';
import type { UsedBy } from '../storage/index.ts';
import { type LastRun, schedules } from './tables.ts';

export type ScheduleRow = typeof schedules.$inferSelect;
export type NewSchedule = typeof schedules.$inferInsert;

/** The changes of a claimed schedule. */
export interface Advance {
  id: string;
  nextRunAt: Date | null;
  runCount: number;
  lastRun: LastRun | null;
}

export type MeasuredSchedule = Pick<
  ScheduleRow,
  'id' | 'organizationId' | 'projectId' | 'name' | 'cron' | 'timezone' | 'drillEvery'
> & { isEnabled: boolean; promisedSince: Date; drillsSince: Date };

export type ScheduleSummary = Omit<ScheduleRow, 'collections' | 'excludeCollections'>;
const { collections: _, excludeCollections: __, ...summary } = getTableColumns(schedules);

/** All SQL on schedules. */
export const scheduleStore = {
  async insert({ orm }: Transaction, row: NewSchedule): Promise<ScheduleRow> {
    const [inserted] = await orm.insert(schedules).values(row).returning();
    return found(inserted);
  },

  async count({ orm }: Transaction, organizationId: string): Promise<number> {
    return orm.$count(schedules, eq(schedules.organizationId, organizationId));
  },

  page: pagesOf(schedules, {
    filters: {
      projectId: eq(schedules.projectId, sql.placeholder('projectId')),
      enabled: eq(schedules.enabled, sql.placeholder('enabled')),
    },
  }),

  async get({ orm }: Transaction, organizationId: string, id: string): Promise<ScheduleRow> {
    const [row] = await orm.select().from(schedules).where(is(organizationId, id));
    return found(row);
  },

  async find({ orm }: Transaction, organizationId: string, id: string): Promise<ScheduleRow | undefined> {
    const [row] = await orm.select().from(schedules).where(is(organizationId, id));
    return row;
  },

  async lock({ orm }: Transaction, organizationId: string, id: string): Promise<ScheduleRow> {
    const [row] = await orm.select().from(schedules).where(is(organizationId, id)).for('update');
    return found(row);
  },

  /** Those of a project, locked, without the names of what they back up: there may be thousands. */
  async ofProject({ orm }: Transaction, organizationId: string, projectId: string): Promise<ScheduleSummary[]> {
    return orm
      .select(summary)
      .from(schedules)
      .where(isOfProject(organizationId, projectId))
      .orderBy(desc(schedules.id))
      .for('update');
  },

  async update(
    { orm }: Transaction,
    organizationId: string,
    id: string,
    change: Partial<NewSchedule>,
  ): Promise<ScheduleRow> {
    const [row] = await orm
      .update(schedules)
      .set({ ...change, version: sql`${schedules.version} + 1` })
      .where(is(organizationId, id))
      .returning();
    return found(row);
  },

  async remove({ orm }: Transaction, organizationId: string, id: string): Promise<void> {
    await orm.delete(schedules).where(is(organizationId, id));
  },

  async move({ client }: Transaction, from: string, projectId: string, to: string, now: Date): Promise<string[]> {
    const moved = `select id from schedules where organization_id = $1 and project_id = $2`;
    await client.query(
      `update schedule_runs set organization_id = $3 where organization_id = $1 and schedule_id in (${moved})`,
      [from, projectId, to],
    );
    const { rows } = await client.query<{ id: string }>(
      `update schedules set organization_id = $3, enabled = false, next_run_at = null, storage_destination_ids = '[]',
              updated_at = $4, version = version + 1
        where organization_id = $1 and project_id = $2 returning id`,
      [from, projectId, to, now],
    );
    return rows.map(({ id }) => id);
  },

  /**
   * All schedules of an organization, those that run next first, without collection names, so that thousands of them
   * fit into memory.
   */
  async all({ orm }: Transaction, organizationId: string, limit: number): Promise<ScheduleSummary[]> {
    return orm
      .select(summary)
      .from(schedules)
      .where(eq(schedules.organizationId, organizationId))
      .orderBy(sql`${schedules.nextRunAt} nulls last`, schedules.id)
      .limit(limit);
  },

  /** Of every active organization, for the metrics; needs a system transaction. */
  async measured({ client }: Transaction, limit: number): Promise<MeasuredSchedule[]> {
    const { rows } = await client.query<MeasuredSchedule>(
      `select id, organization_id as "organizationId", project_id as "projectId", name, cron, timezone,
              next_run_at is not null as "isEnabled", drill_every as "drillEvery",
              coalesce(promised_since, created_at) as "promisedSince",
              greatest(promised_since, drills_since, created_at) as "drillsSince"
         from schedules where ${isActiveOrganizationSql('organization_id')} order by id limit $1`,
      [limit],
    );
    return rows;
  },

  async usersOfDestination({ client }: Transaction, organizationId: string, destinationId: string): Promise<UsedBy[]> {
    const { rows } = await client.query<{ id: string }>(
      `select id from schedules where organization_id = $1 and storage_destination_ids ? $2 order by id limit 100`,
      [organizationId, destinationId],
    );
    return rows.map(({ id }) => ({ type: 'schedule', id }));
  },

  /**
   * Locks due schedules, those that waited longest first, and skips those of other schedulers. Reads only the index of
   * due times, however many schedules there are.
   */
  async lockDue({ orm }: Transaction, now: Date, limit: number): Promise<ScheduleRow[]> {
    return orm
      .select()
      .from(schedules)
      .where(sql`${schedules.nextRunAt} <= ${now}`)
      .orderBy(schedules.nextRunAt)
      .limit(limit)
      .for('update', { skipLocked: true });
  },

  /** One schedule, if it is due. */
  async lockDueOf({ orm }: Transaction, organizationId: string, id: string, now: Date): Promise<ScheduleRow[]> {
    const isIt = and(eq(schedules.organizationId, organizationId), eq(schedules.id, id));
    return orm
      .select()
      .from(schedules)
      .where(and(isIt, sql`${schedules.nextRunAt} <= ${now}`))
      .for('update');
  },

  /** All of a project stay as they are until the end of the transaction; so many of those that are due at most, those that waited longest first. */
  async lockOfProject(
    { orm }: Transaction,
    organizationId: string,
    projectId: string,
    { now, limit }: { now: Date; limit: number },
  ): Promise<ScheduleRow[]> {
    const isOne = isOfProject(organizationId, projectId);
    await orm.select({ id: schedules.id }).from(schedules).where(isOne).orderBy(schedules.id).for('update');
    return orm
      .select()
      .from(schedules)
      .where(and(isOne, sql`${schedules.nextRunAt} <= ${now}`))
      .orderBy(schedules.nextRunAt)
      .limit(limit);
  },

  /** Locks schedules that are due only after an instant, in the order of their ids. */
  async lockDueAfter({ orm }: Transaction, instant: Date, afterId: string, limit: number): Promise<ScheduleRow[]> {
    return orm
      .select()
      .from(schedules)
      .where(sql`${schedules.nextRunAt} > ${instant} and ${schedules.id} > ${afterId}`)
      .orderBy(schedules.id)
      .limit(limit)
      .for('update', { skipLocked: true });
  },

  async advance({ client }: Transaction, advances: readonly Advance[]): Promise<void> {
    await client.query(
      `update schedules s set next_run_at = a.next_run_at, run_count = a.run_count,
              last_run = coalesce(a.last_run, s.last_run), version = s.version + 1
         from (select unnest($1::text[]) as id, unnest($2::timestamptz[]) as next_run_at,
                      unnest($3::int[]) as run_count, unnest($4::jsonb[]) as last_run) a
        where s.id = a.id`,
      [
        advances.map(({ id }) => id),
        advances.map(({ nextRunAt }) => nextRunAt),
        advances.map(({ runCount }) => runCount),
        advances.map(({ lastRun }) => (lastRun === null ? null : encodeJson(lastRun))),
      ],
    );
  },

  /** Updates the outcome of the newest run; does nothing for an older one. */
  async updateLastRun({ client }: Transaction, organizationId: string, id: string, lastRun: LastRun): Promise<void> {
    await client.query(
      `update schedules set last_run = $3, version = version + 1
        where organization_id = $1 and id = $2 and last_run->>'runId' = $4`,
      [organizationId, id, encodeJson(lastRun), lastRun.runId],
    );
  },
};

function isOfProject(organizationId: string, projectId: string) {
  return and(eq(schedules.organizationId, organizationId), eq(schedules.projectId, projectId));
}

function is(organizationId: string, id: string) {
  return and(eq(schedules.organizationId, organizationId), eq(schedules.id, id));
}

function found(row: ScheduleRow | undefined): ScheduleRow {
  if (!row) throw new Problem('SCHEDULE_NOT_FOUND', 'There is no such schedule in this organization.');
  return row;
}
