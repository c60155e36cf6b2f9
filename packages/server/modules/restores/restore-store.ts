import type { Transaction } from '../../platform/database/database.ts';
import { encodeJson } from '../../platform/database/json.ts';
import { and, eq, inArray, or, type Placeholder, sql } from '../../platform/database/orm.ts';
import { pagesOf } from '../../platform/database/pages.ts';
import { rowsWhere } from '../../platform/database/statement.ts';
import { secondMs } from '../../platform/durations.ts';
import { Problem } from '../../platform/problem.ts';
import { type AdmissionTable, admissionOf } from '../jobs/index.ts';
import { isActiveOrganizationSql } from '../organizations/index.ts';
import { projectStore } from '../projects/index.ts';
import { projectRecords } from './project-records-store.ts';
import { restores } from './tables.ts';

export type RestoreRow = typeof restores.$inferSelect;
export type NewRestore = typeof restores.$inferInsert;

/**
 * The holder of a restore or a range saves a sign of life every second. Without one for this long, it counts as dead.
 */
export const silentAfterMs = 15 * secondMs;

const byId = is(sql.placeholder('organizationId'), sql.placeholder('id'));
const oneRestore = rowsWhere(restores, byId);
const oneLocked = rowsWhere(restores, byId, { lock: 'update' });

/** All SQL on restores. */
export const restoreStore = {
  async insert(transaction: Transaction, row: NewRestore): Promise<RestoreRow> {
    const { organizationId, targetProjectId } = row;
    await projectStore.hold(transaction, [row, { organizationId, projectId: targetProjectId }]);
    const [inserted] = await transaction.orm.insert(restores).values(row).returning();
    return found(inserted);
  },

  page: pagesOf(restores, {
    filters: {
      status: eq(restores.status, sql.placeholder('status')),
      backupId: eq(restores.backupId, sql.placeholder('backupId')),
      projectId: eq(restores.projectId, sql.placeholder('projectId')),
      targetProjectId: eq(restores.targetProjectId, sql.placeholder('targetProjectId')),
      dryRun: eq(restores.dryRun, sql.placeholder('dryRun')),
    },
    createdAt: restores.createdAt,
  }),

  async get(transaction: Transaction, organizationId: string, id: string): Promise<RestoreRow> {
    return found(await restoreStore.find(transaction, organizationId, id));
  },

  async find({ client }: Transaction, organizationId: string, id: string): Promise<RestoreRow | undefined> {
    const [row] = await client.read(oneRestore, { organizationId, id });
    return row;
  },

  async lock(transaction: Transaction, organizationId: string, id: string): Promise<RestoreRow> {
    return found(await restoreStore.findLocked(transaction, organizationId, id));
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

  /** Claims the restore for the caller. */
  async claim(
    transaction: Transaction,
    row: RestoreRow,
    change: Pick<NewRestore, 'startedAt' | 'updatedAt'>,
  ): Promise<RestoreRow> {
    const { organizationId, id } = row;
    const claimed = { ...change, ...nextEpoch(row), status: 'running' as const };
    await transaction.orm.update(restores).set({ heldAt: sql`clock_timestamp()` }).where(is(organizationId, id));
    return restoreStore.update(transaction, organizationId, id, claimed);
  },

  /** Whether its holder showed a recent sign of life, by the database's clock: the clocks of two workers may differ. */
  async isAlive({ orm }: Transaction, { organizationId, id }: RestoreRow, withinMs = silentAfterMs): Promise<boolean> {
    const since = sql`clock_timestamp() - make_interval(secs => ${withinMs / secondMs})`;
    const isHeard = sql`coalesce(${restores.heldAt}, ${restores.updatedAt}) > ${since}`;
    return (await orm.$count(restores, and(is(organizationId, id), eq(restores.status, 'running'), isHeard))) > 0;
  },

  /** Saves the change with a sign of life. Undefined when another worker has claimed the restore, or it has ended. */
  async save({ orm }: Transaction, row: RestoreRow, change: Partial<NewRestore>): Promise<RestoreRow | undefined> {
    const mine = and(is(row.organizationId, row.id), eq(restores.epoch, row.epoch), eq(restores.status, 'running'));
    const [saved] = await orm
      .update(restores)
      .set({ ...change, heldAt: sql`clock_timestamp()` })
      .where(mine)
      .returning();
    return saved;
  },

  /** Locks the row; undefined when this claim no longer holds it. */
  async lockHeld(transaction: Transaction, row: RestoreRow): Promise<RestoreRow | undefined> {
    const locked = await restoreStore.findLocked(transaction, row.organizationId, row.id);
    const isHeld = locked?.epoch === row.epoch && locked.status === 'running';
    return isHeld && admissionOf(locked) === admissionOf(row) ? locked : undefined;
  },

  async findLocked({ client }: Transaction, organizationId: string, id: string): Promise<RestoreRow | undefined> {
    const [row] = await client.read(oneLocked, { organizationId, id });
    return row;
  },

  /** Open restores that read a backup, or that made it as their safety backup. */
  async readersOf({ orm }: Transaction, organizationId: string, backupId: string): Promise<string[]> {
    const isPicked = sql`${restores.items} @> ${encodeJson([{ backupId }])}::jsonb`;
    const isNeeded = or(eq(restores.backupId, backupId), eq(restores.safetyBackupId, backupId), isPicked);
    const reading = and(eq(restores.organizationId, organizationId), isNeeded, isOpen);
    const rows = await orm.select({ id: restores.id }).from(restores).where(reading);
    return rows.map(({ id }) => id);
  },

  /**
   * Backups of a project that open restores read or made for safety. Picked documents may be in backups of an earlier
   * connection of the project, which belong to its former record.
   */
  async backupsRead({ client }: Transaction, organizationId: string, projectId: string): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      `select backup_id as id from restores
        where organization_id = $1 and project_id = $2 and status in ('pending', 'running') and backup_id is not null
       union select item->>'backupId' from restores, jsonb_array_elements(items) as item
        where organization_id = $1 and status in ('pending', 'running')
          and jsonb_typeof(items) = 'array' and item->>'backupId' is not null
       union select safety_backup_id from restores
        where organization_id = $1 and target_project_id = $2 and status in ('pending', 'running')
          and safety_backup_id is not null`,
      [organizationId, projectId],
    );
    return rows.map(({ id }) => id);
  },

  /** Safety backups of a project, each with the end of the last restore it was made for. */
  async safetyBackupsSince(
    { client }: Transaction,
    organizationId: string,
    projectId: string,
    since: Date,
  ): Promise<{ id: string; endedAt: Date }[]> {
    const { rows } = await client.query<{ id: string; endedAt: Date }>(
      `select safety_backup_id as id, max(completed_at) as "endedAt" from restores
        where organization_id = $1 and target_project_id = $2 and safety_backup_id is not null and completed_at > $3
        group by safety_backup_id`,
      [organizationId, projectId, since],
    );
    return rows;
  },

  /** Moments of a project that open restores read. */
  async momentsRead(
    { client }: Transaction,
    organizationId: string,
    projectId: string,
  ): Promise<{ id: string; at: string }[]> {
    const { rows } = await client.query<{ id: string; at: string }>(
      `select id, point_in_time as at from restores
        where organization_id = $1 and project_id = $2 and status in ('pending', 'running') and point_in_time is not null
       union select id, item->>'pointInTime' from restores, jsonb_array_elements(items) as item
        where organization_id = $1 and project_id = $2 and status in ('pending', 'running')
          and jsonb_typeof(items) = 'array' and item->>'pointInTime' is not null`,
      [organizationId, projectId],
    );
    return rows;
  },

  ...projectRecords(restores),
};

const isOpen = inArray(restores.status, ['pending', 'running']);

/** One restore at a time per target project. */
export const restoreAdmission: AdmissionTable = {
  table: 'restores',
  isWaiting: `w.status = 'pending' and w.admitted_at is null`,
  isOpen: `w.status in ('pending', 'running') and w.admitted_at is not null`,
  place: 'w.target_project_id',
  admittedAt: 'admitted_at',
  isOfActiveOrganization: isActiveOrganizationSql('w.organization_id'),
};

function is(organizationId: string | Placeholder, id: string | Placeholder) {
  return and(eq(restores.organizationId, organizationId), eq(restores.id, id));
}

/** A new epoch: the former holders of the restore and its ranges lose it. */
export function nextEpoch(row: Pick<RestoreRow, 'epoch' | 'rangesEpoch' | 'belowEpoch'>) {
  const epoch = row.epoch + 1;
  return {
    epoch,
    ...(row.rangesEpoch === null ? {} : { rangesEpoch: epoch }),
    ...(row.belowEpoch === null ? {} : { belowEpoch: epoch }),
  };
}

function found(row: RestoreRow | undefined): RestoreRow {
  if (!row) throw new Problem('RESTORE_NOT_FOUND', 'There is no such restore in this organization.');
  return row;
}

export function restoreEtag(row: RestoreRow): string {
  return `"${row.id}-${row.version}"`;
}
