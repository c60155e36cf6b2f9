import type { LogGap, LogSegment } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import { and, asc, desc, eq, sql } from '../../platform/database/orm.ts';
import type { LogRow } from './pitr-store.ts';
import { pitrSegments, type StoredGap } from './tables.ts';

export type SegmentRow = typeof pitrSegments.$inferSelect;

export interface CapturedSegment {
  readonly sequence: number;
  readonly coveredFrom: string;
  readonly coveredThrough: string;
  readonly gap: StoredGap | null;
}

/** All SQL on the segments of a log. */
export const segmentStore = {
  /** Appends a segment to the log. */
  async insert({ orm }: Transaction, log: LogRow, segment: LogSegment, now: Date): Promise<void> {
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
  async last({ orm }: Transaction, logId: string): Promise<SegmentRow | undefined> {
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
  async endingBy({ orm }: Transaction, logId: string, through: string, limit: number): Promise<SegmentRow[]> {
    const isOver = sql`${pitrSegments.coveredThrough} <= ${through}
      and (${pitrSegments.gap} is null or ${pitrSegments.gap}->>'through' <= ${through})`;
    return orm
      .select()
      .from(pitrSegments)
      .where(and(eq(pitrSegments.logId, logId), isOver))
      .orderBy(asc(pitrSegments.coveredThrough))
      .limit(limit);
  },

  async remove({ client }: Transaction, logId: string, sequences: readonly number[]): Promise<void> {
    await client.query('delete from pitr_segments where log_id = $1 and sequence = any($2)', [logId, [...sequences]]);
  },

  /** Every object that the catalogue knows of a log. */
  async keys({ client }: Transaction, logId: string): Promise<Set<string>> {
    const { rows } = await client.query<{ key: string }>('select key from pitr_segments where log_id = $1', [logId]);
    return new Set(rows.map(({ key }) => key));
  },

  /** All segments of a log, and whether they were missing before. */
  async stored({ client }: Transaction, logId: string): Promise<{ sequence: number; key: string; isLost: boolean }[]> {
    const { rows } = await client.query<{ sequence: number; key: string; isLost: boolean }>(
      `select sequence, key, gap ? 'lost' as "isLost" from pitr_segments where log_id = $1`,
      [logId],
    );
    return rows.map((row) => ({ ...row, isLost: row.isLost === true }));
  },

  /** Captured segments, oldest first, with their gaps; repairs are left out. */
  async captured({ client }: Transaction, logId: string): Promise<CapturedSegment[]> {
    const { rows } = await client.query<CapturedSegment>(
      `select sequence, covered_from as "coveredFrom", covered_through as "coveredThrough", gap from pitr_segments
        where log_id = $1 and covered_from < covered_through order by covered_through`,
      [logId],
    );
    return rows;
  },

  async setGap({ orm }: Transaction, logId: string, sequence: number, gap: StoredGap): Promise<void> {
    await orm
      .update(pitrSegments)
      .set({ gap })
      .where(and(eq(pitrSegments.logId, logId), eq(pitrSegments.sequence, sequence)));
  },

  /** The time of a lost segment is a gap for as long as it is lost. */
  async lose({ client }: Transaction, logId: string, sequences: readonly number[], why: string): Promise<void> {
    await client.query(
      `update pitr_segments
          set gap = jsonb_build_object(
                'from', least(covered_from, gap->>'from'), 'through', greatest(covered_through, gap->>'through'),
                'reason', $3::text, 'deletionsUnknown', true, 'lost', jsonb_build_object('gap', gap))
        where log_id = $1 and sequence = any($2)`,
      [logId, [...sequences], why],
    );
  },

  async regain({ client }: Transaction, logId: string, sequences: readonly number[]): Promise<void> {
    await client.query(
      `update pitr_segments set gap = nullif(gap->'lost'->'gap', 'null')
        where log_id = $1 and sequence = any($2) and gap ? 'lost'`,
      [logId, [...sequences]],
    );
  },
};

export interface DeletesOfSegment {
  readonly deletes: number;
  /** The last exact instant before the first of them. */
  readonly before: string;
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
