import type { Transaction } from '../../../platform/database/database.ts';
import { and, asc, eq, sql } from '../../../platform/database/orm.ts';
import { backupRanges } from '../tables.ts';

export type RangeRow = typeof backupRanges.$inferSelect;

/** All SQL on the ranges of a backup. */
export const rangeStore = {
  async insertAll(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
    ranges: number,
    now: Date,
  ): Promise<void> {
    const rows = Array.from({ length: ranges }, (_, range) => ({ organizationId, backupId, range, updatedAt: now }));
    await orm.insert(backupRanges).values(rows).onConflictDoNothing();
  },

  /** The caller is now the one that works on the range; whoever did before finds its epoch outdated. */
  async claim(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
    range: number,
  ): Promise<RangeRow | undefined> {
    const [row] = await orm
      .update(backupRanges)
      .set({ epoch: sql`${backupRanges.epoch} + 1` })
      .where(
        and(
          eq(backupRanges.organizationId, organizationId),
          eq(backupRanges.backupId, backupId),
          eq(backupRanges.range, range),
        ),
      )
      .returning();
    return row;
  },

  /** False when another worker has claimed the range since. */
  async save(
    { orm }: Transaction,
    row: RangeRow,
    change: Partial<
      Pick<RangeRow, 'state' | 'documents' | 'bytes' | 'reads' | 'isComplete' | 'failures' | 'updatedAt'>
    >,
  ): Promise<boolean> {
    const saved = await orm
      .update(backupRanges)
      .set(change)
      .where(
        and(
          eq(backupRanges.organizationId, row.organizationId),
          eq(backupRanges.backupId, row.backupId),
          eq(backupRanges.range, row.range),
          eq(backupRanges.epoch, row.epoch),
        ),
      )
      .returning({ range: backupRanges.range });
    return saved.length > 0;
  },

  async list({ orm }: Transaction, organizationId: string, backupId: string): Promise<RangeRow[]> {
    return orm
      .select()
      .from(backupRanges)
      .where(and(eq(backupRanges.organizationId, organizationId), eq(backupRanges.backupId, backupId)))
      .orderBy(asc(backupRanges.range));
  },

  async incomplete({ orm }: Transaction, organizationId: string, backupId: string): Promise<number[]> {
    const rows = await orm
      .select({ range: backupRanges.range })
      .from(backupRanges)
      .where(
        and(
          eq(backupRanges.organizationId, organizationId),
          eq(backupRanges.backupId, backupId),
          eq(backupRanges.isComplete, false),
        ),
      )
      .orderBy(asc(backupRanges.range));
    return rows.map(({ range }) => range);
  },

  async totals(
    { orm }: Transaction,
    organizationId: string,
    backupId: string,
  ): Promise<{ documents: number; bytes: number; reads: number; open: number; claims: number }> {
    const [row] = await orm
      .select({
        documents: sql<string>`coalesce(sum(${backupRanges.documents}), 0)`,
        bytes: sql<string>`coalesce(sum(${backupRanges.bytes}), 0)`,
        reads: sql<string>`coalesce(sum(${backupRanges.reads}), 0)`,
        open: sql<string>`count(*) filter (where not ${backupRanges.isComplete})`,
        claims: sql<string>`coalesce(max(${backupRanges.epoch}), 0)`,
      })
      .from(backupRanges)
      .where(and(eq(backupRanges.organizationId, organizationId), eq(backupRanges.backupId, backupId)));
    return {
      documents: Number(row?.documents),
      bytes: Number(row?.bytes),
      reads: Number(row?.reads),
      open: Number(row?.open),
      claims: Number(row?.claims),
    };
  },

  async clear({ orm }: Transaction, organizationId: string, backupId: string): Promise<void> {
    await orm
      .delete(backupRanges)
      .where(and(eq(backupRanges.organizationId, organizationId), eq(backupRanges.backupId, backupId)));
  },
};
