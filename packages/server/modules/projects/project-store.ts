import type { Transaction } from '../../platform/database/database.ts';
import { and, desc, eq, inArray, isNull, max, or, sql } from '../../platform/database/orm.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { rowsWhere } from '../../platform/database/statement.ts';
import { Problem } from '../../platform/problem.ts';
import { isActiveOrganizationSql } from '../organizations/index.ts';
import { projects } from './tables.ts';

export type ProjectRow = typeof projects.$inferSelect;

/** The protected database, as Firestore and manifests name it. */
export function databaseName(project: Pick<ProjectRow, 'sourceProjectId' | 'databaseId'>): string {
  return `projects/${project.sourceProjectId}/databases/${project.databaseId}`;
}
export type NewProject = typeof projects.$inferInsert;

export interface MeasuredProject {
  id: string;
  organizationId: string;
  name: string;
  isFrozen: boolean;
}

/** Former projects of a database that are considered, at most; the backups of earlier ones are ignored. */
const formerMax = 100;

const byId = and(
  eq(projects.organizationId, sql.placeholder('organizationId')),
  eq(projects.id, sql.placeholder('id')),
);
const connectedById = and(byId, isNull(projects.deletedAt));
const oneKept = rowsWhere(projects, byId);
const oneProject = rowsWhere(projects, connectedById);
const oneLocked = rowsWhere(projects, connectedById, { lock: 'update' });
const oneKeptLocked = rowsWhere(projects, byId, { lock: 'update' });

/** All SQL on the projects of an organization. Only `findKept`, `lockKept` and `manyKept` see disconnected projects. */
export const projectStore = {
  /** The longest backup timeout of any project; 0 when none sets one. */
  async longestTimeoutMinutes({ orm }: Transaction, organizationId: string): Promise<number> {
    const [row] = await orm
      .select({ minutes: max(projects.backupTimeoutMinutes) })
      .from(projects)
      .where(eq(projects.organizationId, organizationId));
    return row?.minutes ?? 0;
  },

  async insert({ orm }: Transaction, row: NewProject): Promise<void> {
    await orm.insert(projects).values(row);
  },

  /** Connected projects only. */
  async count({ orm }: Transaction, organizationId: string): Promise<number> {
    return orm.$count(projects, and(eq(projects.organizationId, organizationId), isNull(projects.deletedAt)));
  },

  page: pagesOf(projects, { always: isNull(projects.deletedAt) }),

  async all({ orm }: Transaction, organizationId: string, limit: number): Promise<ProjectRow[]> {
    return orm
      .select()
      .from(projects)
      .where(and(eq(projects.organizationId, organizationId), isNull(projects.deletedAt)))
      .orderBy(projects.id)
      .limit(limit);
  },

  /** Of every active organization, for the metrics; needs a system transaction. */
  async measured({ client }: Transaction, limit: number): Promise<MeasuredProject[]> {
    const { rows } = await client.query<MeasuredProject>(
      `select id, organization_id as "organizationId", name, retention_frozen is not null as "isFrozen" from projects
        where deleted_at is null and ${isActiveOrganizationSql('organization_id')} order by id limit $1`,
      [limit],
    );
    return rows;
  },

  async get({ client }: Transaction, organizationId: string, id: string): Promise<ProjectRow> {
    const [row] = await client.read(oneProject, { organizationId, id });
    return found(row);
  },

  async lock({ client }: Transaction, organizationId: string, id: string): Promise<ProjectRow> {
    const [row] = await client.read(oneLocked, { organizationId, id });
    return found(row);
  },

  /**
   * Until the transaction ends the projects stay in their organizations, disconnected ones too. A record that waits for
   * a project must hold it: in another organization it would wait for ever.
   */
  async hold({ client }: Transaction, wanted: readonly { organizationId: string; projectId: string }[]): Promise<void> {
    const { rows } = await client.query<{ id: string; home: string }>(
      'select id, organization_id as home from projects where id = any($1) order by id for key share',
      [[...new Set(wanted.map(({ projectId }) => projectId))]],
    );
    const homes = new Map(rows.map(({ id, home }) => [id, home]));
    for (const { organizationId, projectId } of wanted) if (homes.get(projectId) !== organizationId) found(undefined);
  },

  /** The connected projects among these; the transaction may span organizations. */
  async many({ orm }: Transaction, ids: readonly string[]): Promise<ProjectRow[]> {
    return orm
      .select()
      .from(projects)
      .where(and(inArray(projects.id, [...ids]), isNull(projects.deletedAt)));
  },

  /** Also finds a project that was disconnected since. */
  async findKept({ client }: Transaction, organizationId: string, id: string): Promise<ProjectRow | undefined> {
    const [row] = await client.read(oneKept, { organizationId, id });
    return row;
  },

  async lockKept({ client }: Transaction, organizationId: string, id: string): Promise<ProjectRow> {
    const [row] = await client.read(oneKeptLocked, { organizationId, id });
    return found(row);
  },

  /** The same for many projects. */
  async manyKept({ orm }: Transaction, organizationId: string, ids: readonly string[]): Promise<ProjectRow[]> {
    return orm
      .select()
      .from(projects)
      .where(and(eq(projects.organizationId, organizationId), inArray(projects.id, [...ids])));
  },

  /** The project of this database; a connected one is preferred to a disconnected one. */
  async ofDatabase(
    { orm }: Transaction,
    organizationId: string,
    sourceProjectId: string,
    databaseId: string,
  ): Promise<ProjectRow | undefined> {
    const rows = await orm
      .select()
      .from(projects)
      .where(
        and(
          eq(projects.organizationId, organizationId),
          eq(projects.sourceProjectId, sourceProjectId),
          eq(projects.databaseId, databaseId),
        ),
      )
      .orderBy(desc(projects.id))
      // Keeps a disconnected project from being forgotten before the found backups are saved.
      .for('key share');
    return rows.find((row) => row.deletedAt === null) ?? rows[0];
  },

  /** The project and the earlier projects of the same database; their backups contain the same documents. */
  async withFormer({ orm }: Transaction, organizationId: string, id: string): Promise<string[]> {
    // Google's database is the same one however it is reached; an emulator's only has the same name.
    const isFormer = sql`${projects.deletedAt} is not null
      and (${projects.sourceProjectId}, ${projects.databaseId}, ${projects.connectionType} = 'emulator')
      in (select p.source_project_id, p.database_id, p.connection_type = 'emulator' from projects p where p.id = ${id})`;
    const rows = await orm
      .select({ id: projects.id })
      .from(projects)
      .where(and(eq(projects.organizationId, organizationId), or(eq(projects.id, id), isFormer)))
      .orderBy(desc(projects.id))
      .limit(formerMax);
    return rows.map((row) => row.id);
  },

  async connectedAmong({ orm }: Transaction, organizationId: string, ids: readonly string[]): Promise<string[]> {
    const isOne = and(eq(projects.organizationId, organizationId), inArray(projects.id, [...ids]));
    const rows = await orm
      .select({ id: projects.id })
      .from(projects)
      .where(and(isOne, isNull(projects.deletedAt)));
    return rows.map((row) => row.id);
  },

  async update({ orm }: Transaction, row: ProjectRow, change: Partial<NewProject>): Promise<ProjectRow> {
    const [updated] = await orm
      .update(projects)
      .set({ ...change, version: row.version + 1 })
      .where(and(eq(projects.organizationId, row.organizationId), eq(projects.id, row.id)))
      .returning();
    return found(updated);
  },

  /** Projects that use this person's consent, or wait for it, in all organizations. */
  async ofConsent({ orm }: Transaction, userId: string): Promise<ProjectRow[]> {
    const theirs = or(eq(projects.connectionUserId, userId), eq(projects.reconnectUserId, userId));
    return orm
      .select()
      .from(projects)
      .where(and(theirs, eq(projects.connectionType, 'oauth'), isNull(projects.deletedAt)));
  },
};

/** Connected projects per organization; the transaction may span organizations. */
export async function countProjects(
  { orm }: Transaction,
  organizationIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (organizationIds.length === 0) return new Map();
  const rows = await orm
    .select({ organizationId: projects.organizationId, count: sql<string>`count(*)` })
    .from(projects)
    .where(and(inArray(projects.organizationId, [...organizationIds]), isNull(projects.deletedAt)))
    .groupBy(projects.organizationId);
  return new Map(rows.map((row) => [row.organizationId, Number(row.count)]));
}

function found(row: ProjectRow | undefined): ProjectRow {
  if (!row) throw new Problem('PROJECT_NOT_FOUND', 'There is no such project in this organization.');
  return row;
}

export function projectEtag(row: ProjectRow): string {
  return `"${row.id}-${row.version}"`;
}
