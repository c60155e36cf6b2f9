import type { Transaction } from '../../../platform/database/database.ts';
import { and, desc, eq, inArray, lt, sql } from '../../../platform/database/orm.ts';
import type { AdmissionTable } from '../../jobs/index.ts';
import { isActiveOrganizationSql } from '../../organizations/index.ts';
import { projectStore } from '../../projects/index.ts';
import { projectRecords } from '../project-records-store.ts';
import { drills } from '../tables.ts';

export type DrillRow = typeof drills.$inferSelect;

/** All SQL on drills. */
export const drillStore = {
  async insert(transaction: Transaction, row: typeof drills.$inferInsert): Promise<DrillRow> {
    const { organizationId, targetProjectId } = row;
    const target = targetProjectId ? [{ organizationId, projectId: targetProjectId }] : [];
    await projectStore.hold(transaction, [row, ...target]);
    const [inserted] = await transaction.orm.insert(drills).values(row).returning();
    return inserted as DrillRow;
  },

  async list(
    { orm }: Transaction,
    organizationId: string,
    { backupId, projectId }: { backupId?: string | undefined; projectId?: string | undefined },
    limit: number,
    before: string | undefined,
  ): Promise<DrillRow[]> {
    return orm
      .select()
      .from(drills)
      .where(
        and(
          eq(drills.organizationId, organizationId),
          backupId === undefined ? undefined : eq(drills.backupId, backupId),
          projectId === undefined ? undefined : eq(drills.projectId, projectId),
          before === undefined ? undefined : lt(drills.id, before),
        ),
      )
      .orderBy(desc(drills.id))
      .limit(limit);
  },

  /** The newest one that ended, of every project. */
  async newestOfProjects({ orm }: Transaction, organizationId: string): Promise<DrillRow[]> {
    return orm
      .selectDistinctOn([drills.projectId])
      .from(drills)
      .where(and(eq(drills.organizationId, organizationId), inArray(drills.status, ['completed', 'failed'])))
      .orderBy(drills.projectId, desc(drills.id));
  },

  /** When a drill last proved a backup of these projects; needs a system transaction. */
  async lastProven({ client }: Transaction, projectIds: readonly string[]): Promise<Map<string, Date>> {
    const { rows } = await client.query<{ projectId: string; at: Date }>(
      `select project_id as "projectId", max(completed_at) as at from drills
        where status = 'completed' and project_id = any($1) and report->'documentsMatched' = report->'documentsExpected'
          and report->'differences'->>'count' = '0' and report->'sha256Expected' = report->'sha256Restored'
        group by project_id`,
      [[...projectIds]],
    );
    return new Map(rows.map(({ projectId, at }) => [projectId, at]));
  },

  async find({ orm }: Transaction, organizationId: string, id: string): Promise<DrillRow | undefined> {
    const [row] = await orm
      .select()
      .from(drills)
      .where(and(eq(drills.organizationId, organizationId), eq(drills.id, id)));
    return row;
  },

  async update(
    { orm }: Transaction,
    organizationId: string,
    id: string,
    change: Partial<typeof drills.$inferInsert>,
  ): Promise<void> {
    await orm
      .update(drills)
      .set(change)
      .where(and(eq(drills.organizationId, organizationId), eq(drills.id, id)));
  },

  async findLocked({ orm }: Transaction, organizationId: string, id: string): Promise<DrillRow | undefined> {
    const [row] = await orm
      .select()
      .from(drills)
      .where(and(eq(drills.organizationId, organizationId), eq(drills.id, id)))
      .for('update');
    return row;
  },

  /** Counts a transient failure and returns how many there were. */
  async countFailure({ orm }: Transaction, organizationId: string, id: string): Promise<number> {
    const [row] = await orm
      .update(drills)
      .set({ failures: sql`${drills.failures} + 1` })
      .where(and(eq(drills.organizationId, organizationId), eq(drills.id, id)))
      .returning({ failures: drills.failures });
    return row?.failures ?? Number.POSITIVE_INFINITY;
  },

  /** Drills that read a backup now. */
  async readersOf({ orm }: Transaction, organizationId: string, backupId: string): Promise<string[]> {
    const reading = and(eq(drills.organizationId, organizationId), eq(drills.backupId, backupId), isOpen);
    const rows = await orm.select({ id: drills.id }).from(drills).where(reading);
    return rows.map(({ id }) => id);
  },

  /** The backups of a project that a drill reads now. */
  async backupsRead({ orm }: Transaction, organizationId: string, projectId: string): Promise<string[]> {
    const reading = and(eq(drills.organizationId, organizationId), eq(drills.projectId, projectId), isOpen);
    const rows = await orm.select({ id: drills.backupId }).from(drills).where(reading);
    return rows.map(({ id }) => id);
  },

  ...projectRecords(drills),
};

const isOpen = inArray(drills.status, ['pending', 'running']);

/** One drill at a time per named target; drills in scratch databases need not wait. */
export const drillAdmission: AdmissionTable = {
  table: 'drills',
  isWaiting: `w.status = 'pending' and w.admitted_at is null`,
  isOpen: `(w.status = 'running' or w.status = 'pending' and w.admitted_at is not null)`,
  place: 'coalesce(w.target_project_id, w.id)',
  admittedAt: 'admitted_at',
  isOfActiveOrganization: isActiveOrganizationSql('w.organization_id'),
};
