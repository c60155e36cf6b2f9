import type { LogGap, LogSegment } from '@holdfast/engine';
import { and, asc, desc, eq, sql } from 'drizzle-orm';
import type { Transaction } from '../../platform/database/database.ts';
import { isActiveOrganizationSql } from '../organizations/index.ts';
import { pitrLogs, pitrSegments } from './tables.ts';

export type LogRow = typeof pitrLogs.$inferSelect;
export type NewLog = typeof pitrLogs.$inferInsert;
export type SegmentRow = typeof pitrSegments.$inferSelect;

/** A heartbeat older than this means that the holder is dead. */
const leaseSeconds = 15;
const gapsShownMax = 1000;

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

  /** Takes logs that nobody captures: never held, let go, or their holder is dead. Each gets a new epoch. */
  async claim(
    { client }: Transaction,
    holder: string,
    limit: number,
  ): Promise<{ organizationId: string; projectId: string; epoch: number }[]> {
    const { rows } = await client.query<{ organization_id: string; project_id: string; epoch: number }>(
      `update pitr_logs set holder = $1, epoch = epoch + 1, heartbeat_at = now()
        where project_id in (
          select l.project_id from pitr_logs l
           where l.enabled and (l.holder is null or l.heartbeat_at < now() - make_interval(secs => $3))
             and (l.retry_at is null or l.retry_at <= now())
           order by l.heartbeat_at nulls first limit $2 for update of l skip locked)
        returning organization_id, project_id, epoch`,
      [holder, limit, leaseSeconds],
    );
    return rows.map((row) => ({
      organizationId: row.organization_id,
      projectId: row.project_id,
      epoch: row.epoch,
    }));
  },

  /** Keeps the leases of a holder; those that are not among the answer are lost. */
  async heartbeat({ client }: Transaction, holder: string): Promise<Map<string, number>> {
    const { rows } = await client.query<{ project_id: string; epoch: number }>(
      `update pitr_logs set heartbeat_at = now()
        where holder = $1 and enabled returning project_id, epoch`,
      [holder],
    );
    return new Map(rows.map((row) => [row.project_id, row.epoch]));
  },

  async letGo(
    { client }: Transaction,
    holder: string,
    projectId: string,
    epoch: number,
    change: { error: object | null; failures: number; retryAfterSeconds: number },
  ): Promise<void> {
    await client.query(
      `update pitr_logs set holder = null, error = $4, failures = $5,
              retry_at = case when $6 > 0 then now() + make_interval(secs => $6) end, version = version + 1
        where holder = $1 and project_id = $2 and epoch = $3`,
      [
        holder,
        projectId,
        epoch,
        change.error === null ? null : JSON.stringify(change.error),
        change.failures,
        change.retryAfterSeconds,
      ],
    );
  },

  /** How many logs are captured at present, by holder. */
  async holders({ client }: Transaction): Promise<Map<string, number>> {
    const { rows } = await client.query<{ holder: string; leases: number }>(
      `select holder, count(*)::int as leases from pitr_logs
        where enabled and holder is not null and heartbeat_at > now() - make_interval(secs => $1) group by holder`,
      [leaseSeconds],
    );
    return new Map(rows.map((row) => [row.holder, row.leases]));
  },

  /** The row, locked, while the lease is still that of the epoch. */
  async lockLease({ orm }: Transaction, organizationId: string, lease: Lease): Promise<LogRow | undefined> {
    const [row] = await orm
      .select()
      .from(pitrLogs)
      .where(and(is(organizationId, lease.projectId), eq(pitrLogs.epoch, lease.epoch), eq(pitrLogs.enabled, true)))
      .for('update');
    return row;
  },

  /** Behind the last one of the log. */
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

  async lastSegment({ orm }: Transaction, logId: string): Promise<SegmentRow | undefined> {
    const [row] = await orm
      .select()
      .from(pitrSegments)
      .where(eq(pitrSegments.logId, logId))
      .orderBy(desc(pitrSegments.coveredThrough))
      .limit(1);
    return row;
  },

  /** Keys of the segments that may hold changes after `from` up to `through`, in the order of time. */
  async keysBetween({ client }: Transaction, logId: string, from: string, through: string): Promise<string[]> {
    const { rows } = await client.query<{ key: string }>(
      `select key from pitr_segments where log_id = $1 and covered_through > $2 and covered_from <= $3 and changes > 0
        order by covered_through, sequence`,
      [logId, from, through],
    );
    return rows.map((row) => row.key);
  },

  /** Keys of the segments that tell of a document, newest first. */
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
        order by covered_through desc, sequence desc limit $4`,
      [logId, hash, before, limit],
    );
    return rows.map((row) => ({ key: row.key, coveredThrough: row.covered_through }));
  },

  /** Ascending. Where there are more than can be shown, the oldest one reaches back over all before it. */
  async gaps({ orm }: Transaction, logId: string, startedFrom: string): Promise<LogGap[]> {
    const rows = await orm
      .select({ gap: pitrSegments.gap })
      .from(pitrSegments)
      .where(and(eq(pitrSegments.logId, logId), sql`${pitrSegments.gap} is not null`))
      .orderBy(desc(pitrSegments.coveredFrom))
      .limit(gapsShownMax + 1);
    const gaps = rows.flatMap(({ gap }) => (gap === null ? [] : [gap])).reverse();
    if (gaps.length <= gapsShownMax) return gaps;
    const [, oldest, ...newer] = gaps;
    return [{ ...oldest!, from: startedFrom }, ...newer];
  },

  async figures({ client }: Transaction, logId: string, since: Date): Promise<LogFigures> {
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

  async deletesSince({ client }: Transaction, logId: string, since: string): Promise<number> {
    const { rows } = await client.query<{ deletes: number }>(
      'select coalesce(sum(deletes), 0)::float8 as deletes from pitr_segments where log_id = $1 and covered_through > $2',
      [logId, since],
    );
    return rows[0]!.deletes;
  },

  async segmentsThrough({ orm }: Transaction, logId: string, through: string, limit: number): Promise<SegmentRow[]> {
    return orm
      .select()
      .from(pitrSegments)
      .where(and(eq(pitrSegments.logId, logId), sql`${pitrSegments.coveredThrough} <= ${through}`))
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

  async all({ client }: Transaction): Promise<LogKey[]> {
    const { rows } = await client.query<{ organization_id: string; project_id: string }>(
      'select organization_id, project_id from pitr_logs order by project_id',
    );
    return rows.map((row) => ({ organizationId: row.organization_id, projectId: row.project_id }));
  },

  /** How far each running capture of an active organization has come, for the metrics; needs a system transaction. */
  async measured({ client }: Transaction, limit: number): Promise<(LogKey & { coveredThrough: string })[]> {
    const { rows } = await client.query<LogKey & { coveredThrough: string }>(
      `select organization_id as "organizationId", project_id as "projectId", covered_through as "coveredThrough"
         from pitr_logs where enabled and ${isActiveOrganizationSql('organization_id')} order by project_id limit $1`,
      [limit],
    );
    return rows;
  },

  async envelopes({ client }: Transaction, organizationId: string): Promise<LogEnvelope[]> {
    const { rows } = await client.query<LogEnvelope>(
      `select project_id as "projectId", log_id as "logId", envelope, key_id as "keyId" from pitr_logs
        where organization_id = $1`,
      [organizationId],
    );
    return rows;
  },

  async usersOfDestination(
    { client }: Transaction,
    organizationId: string,
    destinationId: string,
  ): Promise<{ type: string; id: string }[]> {
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

export interface LogEnvelope {
  readonly projectId: string;
  readonly logId: string;
  readonly envelope: LogRow['envelope'];
  readonly keyId: string;
}

export interface LogFigures {
  readonly hours: readonly { readonly hour: Date; readonly count: number }[];
  readonly collections: readonly { readonly id: string; readonly changes: number }[];
}

function is(organizationId: string, projectId: string) {
  return and(eq(pitrLogs.organizationId, organizationId), eq(pitrLogs.projectId, projectId));
}
