import type { LogGap, LogSegment } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { encodeJson } from '../../platform/database/json.ts';
import { and, asc, desc, eq, sql } from '../../platform/database/orm.ts';
import { anyLog, hasBaseSql } from '../backups/index.ts';
import { isActiveOrganizationSql } from '../organizations/index.ts';
import type { UsedBy } from '../storage/index.ts';
import { pitrLogs, pitrSegments, type SpentReads, type StoredGap } from './tables.ts';

export type LogRow = typeof pitrLogs.$inferSelect;
export type NewLog = typeof pitrLogs.$inferInsert;
export type SegmentRow = typeof pitrSegments.$inferSelect;

/** All SQL on logs of changes and their segments. */
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

  /** Appends a segment to the log. */
  async insertSegment({ orm }: Transaction, log: LogRow, segment: LogSegment, now: Date): Promise<void> {
    const { marks: _marks, ...kept } = segment;
    await orm.insert(pitrSegments).values({
      ...kept,
      collections: { ...kept.collections },
      pathHashes: [...kept.pathHashes],
      sequence: log.nextSequence,
      projectId: log.projectId,
      organizationId: log.organizationId,
      logId: log.logId,
      createdAt: now,
    });
  },

  /** The last captured segment; repairs do not extend the log. */
  async lastSegment({ orm }: Transaction, logId: string): Promise<SegmentRow | undefined> {
    const isCaptured = sql`${pitrSegments.coveredFrom} < ${pitrSegments.coveredThrough}`;
    const [row] = await orm
      .select()
      .from(pitrSegments)
      .where(and(eq(pitrSegments.logId, logId), isCaptured))
      .orderBy(desc(pitrSegments.coveredThrough))
      .limit(1);
    return row;
  },

  /**
   * Keys of the segments that may hold changes after `from` up to `through`, in order of time. Segments that fill the
   * beginning of a gap count only inside the gap: the changes that capture reported after the gap are relative to the
   * state before all of it.
   */
  async keysBetween({ client }: Transaction, logId: string, from: string, through: string): Promise<string[]> {
    const { rows } = await client.query<{ key: string; sequence: number; coveredThrough: string }>(
      `select key, sequence, covered_through as "coveredThrough" from pitr_segments
        where log_id = $1 and covered_through > $2 and covered_from <= $3 and changes > 0
        order by covered_through, sequence`,
      [logId, from, through],
    );
    const filled = await client.query<{ gap: StoredGap }>(
      `select gap from pitr_segments where log_id = $1 and gap is not null and gap ? 'filledFrom'`,
      [logId],
    );
    return rows.filter((row) => filled.rows.every(({ gap }) => counts(row, gap, through))).map(({ key }) => key);
  },

  /** Keys of the segments that may hold versions of a document, newest first. */
  async keysOfPath(
    { client }: Transaction,
    logId: string,
    hash: number,
    before: string | null,
    limit: number,
  ): Promise<{ key: string; coveredThrough: string }[]> {
    const { rows } = await client.query<{ key: string; covered_through: string }>(
      `select key, covered_through from pitr_segments
        where log_id = $1 and path_hashes @> array[$2]::integer[] and ($3::text is null or covered_from < $3)
          and (gap is null or not gap ? 'lost')
        order by covered_through desc, sequence desc limit $4`,
      [logId, hash, before, limit],
    );
    return rows.map((row) => ({ key: row.key, coveredThrough: row.covered_through }));
  },

  /** All gaps, ascending. A gap that is missing here would be shown as captured time. */
  async gaps({ orm }: Transaction, logId: string): Promise<LogGap[]> {
    const rows = await orm
      .select({ gap: pitrSegments.gap })
      .from(pitrSegments)
      .where(and(eq(pitrSegments.logId, logId), sql`${pitrSegments.gap} is not null`))
      .orderBy(asc(pitrSegments.coveredFrom));
    return rows.flatMap(({ gap }) => {
      if (gap === null) return [];
      const { lost: _lost, filledBy: _filledBy, ...shown } = gap;
      return [shown];
    });
  },

  /** Changes per minute; a segment counts at its end. */
  async minutesBetween({ client }: Transaction, logId: string, from: Date, to: Date): Promise<LogFigures['minutes']> {
    const { rows } = await client.query<{ minute: Date; count: number }>(
      `select date_trunc('minute', covered_through::timestamptz) as minute, sum(changes)::float8 as count from pitr_segments
        where log_id = $1 and changes > 0 and covered_through >= $2 and covered_through < $3 group by 1 order by 1`,
      [logId, from.toISOString(), to.toISOString()],
    );
    return rows;
  },

  async figures({ client }: Transaction, logId: string, since: Date): Promise<Omit<LogFigures, 'minutes'>> {
    const hours = await client.query<{ hour: Date; count: number }>(
      `select date_trunc('hour', covered_through::timestamptz) as hour, sum(changes)::float8 as count from pitr_segments
        where log_id = $1 and changes > 0 and created_at >= $2 group by 1 order by 1`,
      [logId, since],
    );
    const collections = await client.query<{ id: string; changes: number }>(
      `select c.key as id, sum(c.value::bigint)::float8 as changes
         from pitr_segments s, jsonb_each_text(s.collections) c
        where s.log_id = $1 and s.created_at >= $2 group by 1 order by 2 desc, 1 limit 1000`,
      [logId, since],
    );
    return { hours: hours.rows, collections: collections.rows };
  },

  /** Segments with deletions, oldest first. */
  async deletesSince({ client }: Transaction, logId: string, since: string): Promise<DeletesOfSegment[]> {
    const { rows } = await client.query<DeletesOfSegment>(
      `select deletes, coalesce(before_deletes, covered_from) as "before" from pitr_segments
        where log_id = $1 and covered_through > $2 and deletes > 0 order by covered_through`,
      [logId, since],
    );
    return rows;
  },

  /** Segments that end before an instant, except those whose gap ends later. */
  async segmentsThrough({ orm }: Transaction, logId: string, through: string, limit: number): Promise<SegmentRow[]> {
    const isOver = sql`${pitrSegments.coveredThrough} <= ${through}
      and (${pitrSegments.gap} is null or ${pitrSegments.gap}->>'through' <= ${through})`;
    return orm
      .select()
      .from(pitrSegments)
      .where(and(eq(pitrSegments.logId, logId), isOver))
      .orderBy(asc(pitrSegments.coveredThrough))
      .limit(limit);
  },

  async removeSegments({ client }: Transaction, logId: string, sequences: readonly number[]): Promise<void> {
    await client.query('delete from pitr_segments where log_id = $1 and sequence = any($2)', [logId, [...sequences]]);
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

  async inDestination({ orm }: Transaction, organizationId: string, destinationId: string): Promise<LogRow[]> {
    return orm
      .select()
      .from(pitrLogs)
      .where(and(eq(pitrLogs.organizationId, organizationId), eq(pitrLogs.storageDestinationId, destinationId)));
  },

  async ofOrganization({ orm }: Transaction, organizationId: string): Promise<LogRow[]> {
    return orm.select().from(pitrLogs).where(eq(pitrLogs.organizationId, organizationId));
  },

  /** Every object that the catalogue knows of a log. */
  async segmentKeys({ client }: Transaction, logId: string): Promise<Set<string>> {
    const { rows } = await client.query<{ key: string }>('select key from pitr_segments where log_id = $1', [logId]);
    return new Set(rows.map(({ key }) => key));
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

export interface DeletesOfSegment {
  readonly deletes: number;
  /** The last exact instant before the first of them. */
  readonly before: string;
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

export interface LogFigures {
  readonly hours: readonly { readonly hour: Date; readonly count: number }[];
  readonly minutes: readonly { readonly minute: Date; readonly count: number }[];
  readonly collections: readonly { readonly id: string; readonly changes: number }[];
}

/** Whether a segment counts at an instant, as far as one filled gap decides it. */
function counts(
  { sequence, coveredThrough }: { sequence: number; coveredThrough: string },
  gap: StoredGap,
  instant: string,
): boolean {
  const filledFrom = gap.filledFrom ?? gap.from;
  if (instant <= filledFrom || coveredThrough <= filledFrom) return true;
  return fills(gap, sequence) === instant < gap.through;
}

/** Whether a segment is one of those that fill the beginning of a gap. */
export function fills({ filledBy }: StoredGap, sequence: number): boolean {
  return filledBy?.some(([first, last]) => first <= sequence && sequence <= last) === true;
}

function is(organizationId: string, projectId: string) {
  return and(eq(pitrLogs.organizationId, organizationId), eq(pitrLogs.projectId, projectId));
}
