import { and, desc, eq, gte, inArray, lt, sql } from 'drizzle-orm';
import type { Transaction } from '../../platform/database/database.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { Problem } from '../../platform/problem.ts';
import { drills, type JobStatus, restores } from './tables.ts';

export type RestoreRow = typeof restores.$inferSelect;
export type NewRestore = typeof restores.$inferInsert;
export type DrillRow = typeof drills.$inferSelect;

/** All SQL on restores. */
export const restoreStore = {
  async insert({ orm }: Transaction, row: NewRestore): Promise<RestoreRow> {
    const [inserted] = await orm.insert(restores).values(row).returning();
    return found(inserted);
  },

  page: pagesOf(restores, {
    filters: {
      status: eq(restores.status, sql.placeholder('status')),
      backupId: eq(restores.backupId, sql.placeholder('backupId')),
      projectId: eq(restores.projectId, sql.placeholder('projectId')),
      targetProjectId: eq(restores.targetProjectId, sql.placeholder('targetProjectId')),
      from: gte(restores.createdAt, sql.placeholder('from')),
      to: lt(restores.createdAt, sql.placeholder('to')),
    },
  }),

  async get({ orm }: Transaction, organizationId: string, id: string): Promise<RestoreRow> {
    const [row] = await orm.select().from(restores).where(is(organizationId, id));
    return found(row);
  },

  async find({ orm }: Transaction, organizationId: string, id: string): Promise<RestoreRow | undefined> {
    const [row] = await orm.select().from(restores).where(is(organizationId, id));
    return row;
  },

  async lock({ orm }: Transaction, organizationId: string, id: string): Promise<RestoreRow> {
    const [row] = await orm.select().from(restores).where(is(organizationId, id)).for('update');
    return found(row);
  },

  async update(
    { orm }: Transaction,
    organizationId: string,
    id: string,
    change: Partial<NewRestore>,
  ): Promise<RestoreRow> {
    const [row] = await orm
      .update(restores)
      .set({ ...change, version: sql`${restores.version} + 1` })
      .where(is(organizationId, id))
      .returning();
    return found(row);
  },

  /** Undefined when another worker has claimed the restore since, or it has ended. */
  async save({ orm }: Transaction, row: RestoreRow, change: Partial<NewRestore>): Promise<RestoreRow | undefined> {
    const mine = and(is(row.organizationId, row.id), eq(restores.epoch, row.epoch), eq(restores.status, 'running'));
    const [saved] = await orm.update(restores).set(change).where(mine).returning();
    return saved;
  },

  /** Restores and drills that read a backup now. */
  async readersOf(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
  ): Promise<{ type: string; id: string }[]> {
    const open: JobStatus[] = ['pending', 'running'];
    const reading = await orm
      .select({ id: restores.id })
      .from(restores)
      .where(
        and(
          eq(restores.organizationId, organizationId),
          eq(restores.backupId, backupId),
          inArray(restores.status, open),
        ),
      );
    const drilling = await orm
      .select({ id: drills.id })
      .from(drills)
      .where(
        and(eq(drills.organizationId, organizationId), eq(drills.backupId, backupId), inArray(drills.status, open)),
      );
    return [
      ...reading.map(({ id }) => ({ type: 'restore', id })),
      ...drilling.map(({ id }) => ({ type: 'drill', id })),
    ];
  },

  /** Of a project's backups those that a restore or a drill reads now. */
  async backupsRead({ client }: Transaction, organizationId: string, projectId: string): Promise<Set<string>> {
    const { rows } = await client.query<{ backup_id: string }>(
      `select backup_id from restores
        where organization_id = $1 and project_id = $2 and status in ('pending', 'running')
       union select safety_backup_id from restores
        where organization_id = $1 and target_project_id = $2 and status in ('pending', 'running')
          and safety_backup_id is not null
       union select backup_id from drills
        where organization_id = $1 and project_id = $2 and status in ('pending', 'running')`,
      [organizationId, projectId],
    );
    return new Set(rows.map((row) => row.backup_id));
  },

  /** Restores from or into a project, and drills of its backups or into it, that have not ended. */
  async openOf(
    { orm }: Transaction,
    organizationId: string,
    projectId: string,
  ): Promise<{ type: string; id: string }[]> {
    const about = sql`(${restores.projectId} = ${projectId} or ${restores.targetProjectId} = ${projectId})`;
    const rows = await orm
      .select({ id: restores.id })
      .from(restores)
      .where(and(eq(restores.organizationId, organizationId), about, inArray(restores.status, ['pending', 'running'])));
    const drilled = sql`(${drills.projectId} = ${projectId} or ${drills.targetProjectId} = ${projectId})`;
    const drilling = await orm
      .select({ id: drills.id })
      .from(drills)
      .where(and(eq(drills.organizationId, organizationId), drilled, inArray(drills.status, ['pending', 'running'])));
    return [...rows.map(({ id }) => ({ type: 'restore', id })), ...drilling.map(({ id }) => ({ type: 'drill', id }))];
  },
};

export const drillStore = {
  async insert({ orm }: Transaction, row: typeof drills.$inferInsert): Promise<DrillRow> {
    const [inserted] = await orm.insert(drills).values(row).returning();
    return inserted as DrillRow;
  },

  async list(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
    limit: number,
    before: string | undefined,
  ): Promise<DrillRow[]> {
    const ofIt = and(eq(drills.organizationId, organizationId), eq(drills.backupId, backupId));
    return orm
      .select()
      .from(drills)
      .where(before ? and(ofIt, lt(drills.id, before)) : ofIt)
      .orderBy(desc(drills.id))
      .limit(limit);
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
};

function is(organizationId: string, id: string) {
  return and(eq(restores.organizationId, organizationId), eq(restores.id, id));
}

function found(row: RestoreRow | undefined): RestoreRow {
  if (!row) throw new Problem('RESTORE_NOT_FOUND', 'There is no such restore in this organization.');
  return row;
}

export function restoreEtag(row: RestoreRow): string {
  return `"${row.id}-${row.version}"`;
}
