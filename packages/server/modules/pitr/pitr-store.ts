import type { Transaction } from '../../platform/database/database.ts';
import { encodeJson } from '../../platform/database/json.ts';
import { and, eq, sql } from '../../platform/database/orm.ts';
import { anyLog, hasBaseSql } from '../backups/index.ts';
import { isActiveOrganizationSql } from '../organizations/index.ts';
import type { UsedBy } from '../storage/index.ts';
import { pitrLogs, pitrSegments, type SpentReads } from './tables.ts';

export type LogRow = typeof pitrLogs.$inferSelect;
export type NewLog = typeof pitrLogs.$inferInsert;

/** All SQL on logs of changes. */
export const pitrStore = {
  async find({ orm }: Transaction, organizationId: string, projectId: string): Promise<LogRow | undefined> {
    const [row] = await orm.select().from(pitrLogs).where(is(organizationId, projectId));
    return row;
  },

  async lock({ orm }: Transaction, organizationId: string, projectId: string): Promise<LogRow | undefined> {
    const [row] = await orm.select().from(pitrLogs).where(is(organizationId, projectId)).for('update');
    return row;
  },

  async many({ client }: Transaction, organizationId: string, projectIds: readonly string[]): Promise<string[]> {
    const { rows } = await client.query<{ project_id: string }>(
      'select project_id from pitr_logs where organization_id = $1 and project_id = any($2)',
      [organizationId, [...projectIds]],
    );
    return rows.map((row) => row.project_id);
  },

  async save({ orm }: Transaction, row: NewLog): Promise<LogRow> {
    const { projectId: _projectId, ...change } = row;
    const [saved] = await orm
      .insert(pitrLogs)
      .values(row)
      .onConflictDoUpdate({ target: pitrLogs.projectId, set: { ...change, version: sql`${pitrLogs.version} + 1` } })
      .returning();
    return saved!;
  },

  async update(
    { orm }: Transaction,
    organizationId: string,
    projectId: string,
    change: Partial<NewLog>,
  ): Promise<LogRow | undefined> {
    const [row] = await orm
      .update(pitrLogs)
      .set({ ...change, version: sql`${pitrLogs.version} + 1` })
      .where(is(organizationId, projectId))
      .returning();
    return row;
  },

  async remove({ orm }: Transaction, organizationId: string, projectId: string): Promise<void> {
    await orm
      .delete(pitrSegments)
      .where(and(eq(pitrSegments.organizationId, organizationId), eq(pitrSegments.projectId, projectId)));
    await orm.delete(pitrLogs).where(is(organizationId, projectId));
  },

  /** Locks the row; undefined when the lease has another epoch. */
  async lockLease({ orm }: Transaction, organizationId: string, lease: Lease): Promise<LogRow | undefined> {
    const [row] = await orm
      .select()
      .from(pitrLogs)
      .where(and(is(organizationId, lease.projectId), eq(pitrLogs.epoch, lease.epoch)))
      .for('update');
    return row;
  },

  /** Somebody said that the cause of the failure is fixed, so the pause ends now. */
  async retryNow({ client }: Transaction, organizationId: string, projectId: string): Promise<void> {
    await client.query('update pitr_logs set retry_at = null where organization_id = $1 and project_id = $2', [
      organizationId,
      projectId,
    ]);
  },

  /** Ends captures with a withdrawn key, and lets waiting ones try at once, because their key may be back. */
  async followKeys({ client }: Transaction, organizationId: string, withdrawn: readonly string[]): Promise<void> {
    await client.query(
      `update pitr_logs set retry_at = null, epoch = epoch + (key_id = any($2))::int,
              holder = case when key_id = any($2) then null else holder end
        where organization_id = $1`,
      [organizationId, [...withdrawn]],
    );
  },

  /** Adds reads that belong to no batch. */
  async addReads({ client }: Transaction, { organizationId, projectId }: LogKey, reads: number): Promise<void> {
    await client.query(
      'update pitr_logs set reads_used = reads_used + $3 where organization_id = $1 and project_id = $2',
      [organizationId, projectId, reads],
    );
  },

  /** Adds spent reads to the hourly budget; entries older than `since` are dropped. */
  async noteSpent(
    { client }: Transaction,
    { organizationId, projectId }: LogKey,
    spent: SpentReads,
    since: string,
  ): Promise<void> {
    await client.query(
      `update pitr_logs set spent_reads = coalesce(
          (select jsonb_agg(e) from jsonb_array_elements(spent_reads) e where e->>'at' > $4), '[]') || $3::jsonb
        where organization_id = $1 and project_id = $2`,
      [organizationId, projectId, encodeJson([spent]), since],
    );
  },

  /** Logs whose upkeep is due; the transaction spans organizations. */
  async due({ client }: Transaction, what: 'reconcile' | 'compact', now: Date, limit: number): Promise<LogKey[]> {
    const { rows } = await client.query<{ organization_id: string; project_id: string }>(
      `select organization_id, project_id from pitr_logs where enabled and ${what}_due_at <= $1 order by ${what}_due_at limit $2`,
      [now, limit],
    );
    return rows.map((row) => ({ organizationId: row.organization_id, projectId: row.project_id }));
  },

  async all({ client }: Transaction, { onlyEnabled = false } = {}): Promise<LogKey[]> {
    const { rows } = await client.query<{ organization_id: string; project_id: string }>(
      `select organization_id, project_id from pitr_logs where enabled or not $1 order by project_id`,
      [onlyEnabled],
    );
    return rows.map((row) => ({ organizationId: row.organization_id, projectId: row.project_id }));
  },

  /** How far each running capture has come, and whether a base certainly reaches there; needs a system transaction. */
  async measured({ client }: Transaction, limit: number): Promise<MeasuredLog[]> {
    const { rows } = await client.query<MeasuredLog>(
      `select l.organization_id as "organizationId", l.project_id as "projectId", l.started_from as "startedFrom",
              l.covered_through as "coveredThrough",
              ${hasBaseSql(
                'l',
                (
                  time,
                  logId,
                ) => `${logId} in ('${anyLog}', l.log_id) and ${time} between l.started_from and l.covered_through
                  and not exists (select 1 from pitr_segments s where s.log_id = l.log_id and s.gap is not null
                    and s.gap->>'through' > ${time}
                    and ((s.gap->>'deletionsUnknown')::boolean or s.gap->>'from' < ${time}))`,
              )} as "isReached"
         from pitr_logs l where enabled and ${isActiveOrganizationSql('l.organization_id')} order by project_id limit $1`,
      [limit],
    );
    return rows;
  },

  /** The row of a log, of any organization; needs a transaction that spans organizations. */
  async findByLog({ orm }: Transaction, logId: string): Promise<LogRow | undefined> {
    const [row] = await orm.select().from(pitrLogs).where(eq(pitrLogs.logId, logId));
    return row;
  },

  /** Whether the time of a log was taken into another one; the transaction spans organizations. */
  async isTaken({ client }: Transaction, logId: string): Promise<boolean> {
    const taken = encodeJson([{ logId }]);
    const { rowCount } = await client.query('select 1 from pitr_logs where joined @> $1::jsonb', [taken]);
    return rowCount !== 0;
  },

  async inDestination({ orm }: Transaction, organizationId: string, destinationId: string): Promise<LogRow[]> {
    return orm
      .select()
      .from(pitrLogs)
      .where(and(eq(pitrLogs.organizationId, organizationId), eq(pitrLogs.storageDestinationId, destinationId)));
  },

  async ofOrganization({ orm }: Transaction, organizationId: string): Promise<LogRow[]> {
    return orm.select().from(pitrLogs).where(eq(pitrLogs.organizationId, organizationId));
  },

  /** Logs whose manifest has an older envelope; the transaction spans organizations. */
  async withOldManifest({ orm }: Transaction, limit: number): Promise<LogRow[]> {
    // Some of each organization in random order: one that cannot be written must not block others for ever.
    const turn = sql`row_number() over (partition by ${pitrLogs.organizationId} order by random())`;
    return orm.select().from(pitrLogs).where(eq(pitrLogs.manifestWritten, false)).orderBy(turn).limit(limit);
  },

  /**
   * Records that the manifest was written with this envelope. The returned row says whether that is the envelope in
   * use.
   */
  async noteManifest({ orm }: Transaction, written: LogRow): Promise<LogRow | undefined> {
    const isInUse = sql`${pitrLogs.envelope}->>'wrapped' = ${written.envelope.wrapped}`;
    const isPlace = eq(pitrLogs.storageDestinationId, written.storageDestinationId);
    const [row] = await orm
      .update(pitrLogs)
      .set({ manifestWritten: isInUse, version: sql`${pitrLogs.version} + 1` })
      .where(and(is(written.organizationId, written.projectId), eq(pitrLogs.logId, written.logId), isPlace))
      .returning();
    return row;
  },

  async envelopes({ client }: Transaction, organizationId: string): Promise<LogEnvelope[]> {
    const { rows } = await client.query<LogEnvelope>(
      `select project_id as "projectId", log_id as "logId", envelope, key_id as "keyId" from pitr_logs
        where organization_id = $1`,
      [organizationId],
    );
    return rows;
  },

  async usersOfDestination({ client }: Transaction, organizationId: string, destinationId: string): Promise<UsedBy[]> {
    const { rows } = await client.query<{ project_id: string }>(
      'select project_id from pitr_logs where organization_id = $1 and storage_destination_id = $2',
      [organizationId, destinationId],
    );
    return rows.map((row) => ({ type: 'pitr', id: row.project_id }));
  },
};

export interface Lease {
  readonly projectId: string;
  readonly epoch: number;
}

export interface LogKey {
  readonly organizationId: string;
  readonly projectId: string;
}

export interface MeasuredLog extends LogKey {
  readonly startedFrom: string;
  readonly coveredThrough: string;
  readonly isReached: boolean;
}

export interface LogEnvelope {
  readonly projectId: string;
  readonly logId: string;
  readonly envelope: LogRow['envelope'];
  readonly keyId: string;
}

function is(organizationId: string, projectId: string) {
  return and(eq(pitrLogs.organizationId, organizationId), eq(pitrLogs.projectId, projectId));
}
