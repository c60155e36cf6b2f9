import type { Transaction } from '../../../platform/database/database.ts';
import { encodeJson } from '../../../platform/database/json.ts';
import { and, eq } from '../../../platform/database/orm.ts';
import { pitrSegments, type StoredGap } from '../tables.ts';

export interface CapturedSegment {
  readonly sequence: number;
  readonly coveredFrom: string;
  readonly coveredThrough: string;
  readonly gap: StoredGap | null;
}

/** SQL on segments, for comparing them with what is in storage. */
export const segmentStore = {
  /** All segments of a log, and whether they were missing before. */
  async storedSegments(
    { client }: Transaction,
    logId: string,
  ): Promise<{ sequence: number; key: string; isLost: boolean }[]> {
    const { rows } = await client.query<{ sequence: number; key: string; isLost: boolean }>(
      `select sequence, key, gap ? 'lost' as "isLost" from pitr_segments where log_id = $1`,
      [logId],
    );
    return rows.map((row) => ({ ...row, isLost: row.isLost === true }));
  },

  /** Whether the time of a log was taken into another one; the transaction spans organizations. */
  async isTaken({ client }: Transaction, logId: string): Promise<boolean> {
    const taken = encodeJson([{ logId }]);
    const { rowCount } = await client.query('select 1 from pitr_logs where joined @> $1::jsonb', [taken]);
    return rowCount !== 0;
  },

  /** Captured segments, oldest first, with their gaps; repairs are left out. */
  async capturedSegments({ client }: Transaction, logId: string): Promise<CapturedSegment[]> {
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
  async loseSegments({ client }: Transaction, logId: string, sequences: readonly number[], why: string): Promise<void> {
    await client.query(
      `update pitr_segments
          set gap = jsonb_build_object(
                'from', least(covered_from, gap->>'from'), 'through', greatest(covered_through, gap->>'through'),
                'reason', $3::text, 'deletionsUnknown', true, 'lost', jsonb_build_object('gap', gap))
        where log_id = $1 and sequence = any($2)`,
      [logId, [...sequences], why],
    );
  },

  async regainSegments({ client }: Transaction, logId: string, sequences: readonly number[]): Promise<void> {
    await client.query(
      `update pitr_segments set gap = nullif(gap->'lost'->'gap', 'null')
        where log_id = $1 and sequence = any($2) and gap ? 'lost'`,
      [logId, [...sequences]],
    );
  },
};
