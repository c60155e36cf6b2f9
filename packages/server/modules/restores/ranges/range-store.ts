import type { Transaction } from '../../../platform/database/database.ts';
import { and, asc, eq, inArray, sql } from '../../../platform/database/orm.ts';
import { secondMs } from '../../../platform/durations.ts';
import type { StoredError } from '../../job-error.ts';
import { journalStore, type NewPages } from '../journal/journal-store.ts';
import { type RestoreRow, restoreStore, silentAfterMs } from '../restore-store.ts';
import { restoreRanges, restores } from '../tables.ts';
import { nothingWritten } from './written.ts';

export type RangeRow = typeof restoreRanges.$inferSelect;
type Restore = Pick<RestoreRow, 'organizationId' | 'id'>;

/** How the writers of one restore share the write rate. */
export interface SharedPace {
  /** Ranges that are being written now. */
  held: number;
  elapsedMs: number;
}

export interface SavedRange {
  restore: RestoreRow;
  range: RangeRow;
  pace: SharedPace;
}

/** The state of all ranges of a restore. */
export interface RangesState {
  ranges: number;
  open: number;
  /** Held by a worker that is alive. */
  held: number;
  /** Ranges in which something may have been written that is not in the journal. */
  unheard: number;
  /** Why one of them cannot be written. */
  error: StoredError | null;
}

/**
 * All SQL on the ranges of restores. Signs of life are compared in the database, whose clock is the same for all
 * workers.
 */
export const rangeStore = {
  /** Inserts ranges with these borders, in the transaction that splits the restore. */
  async insertAll(
    { orm }: Transaction,
    { organizationId, id: restoreId }: Restore,
    borders: readonly string[],
  ): Promise<void> {
    const rows = [null, ...borders].map((startPath, range) => ({
      organizationId,
      restoreId,
      range,
      startPath,
      endPath: borders[range] ?? null,
      written: nothingWritten,
    }));
    await orm.insert(restoreRanges).values(rows);
  },

  /**
   * Allows ranges to be claimed, and starts the ramp-up of their writes. False when another worker holds the restore.
   */
  async begin({ orm }: Transaction, row: RestoreRow): Promise<boolean> {
    const begun = await orm
      .update(restores)
      .set({ rangesBeganAt: sql`clock_timestamp()`, rangesStoppedAt: null })
      .where(and(eq(restores.id, row.id), eq(restores.epoch, row.epoch), eq(restores.status, 'running')))
      .returning({ id: restores.id });
    return begun.length > 0;
  },

  /** Claims the first free range. The caller has locked the row of the restore. */
  async claim({ orm }: Transaction, restore: Restore): Promise<{ range: RangeRow; isContinued: boolean } | undefined> {
    const isFree = sql`not ${restoreRanges.isComplete} and ${restoreRanges.error} is null and not ${isAlive}`;
    const [next] = await orm
      .select({ range: restoreRanges.range, epoch: restoreRanges.epoch, isHeard: restoreRanges.isHeard })
      .from(restoreRanges)
      .where(and(of(restore), isFree))
      .orderBy(asc(restoreRanges.range))
      .limit(1);
    if (!next) return undefined;
    const [claimed] = await orm
      .update(restoreRanges)
      .set({ epoch: sql`${restoreRanges.epoch} + 1`, isHeld: true, isHeard: false, heldAt: sql`clock_timestamp()` })
      .where(and(of(restore), eq(restoreRanges.range, next.range)))
      .returning();
    return claimed && { range: claimed, isContinued: next.epoch > 0 && !next.isHeard };
  },

  /**
   * Saves the change with its journal pages and a sign of life. Undefined when the restore has ended or has another
   * holder, or when another worker has claimed the range.
   */
  async save(
    transaction: Transaction,
    { restore, range }: { restore: RestoreRow; range: RangeRow },
    change: Partial<Omit<RangeRow, 'organizationId' | 'restoreId' | 'range' | 'epoch' | 'heldAt'>>,
    pages: NewPages,
    at: Date,
  ): Promise<SavedRange | undefined> {
    const locked = await restoreStore.lockHeld(transaction, restore);
    if (!locked) return undefined;
    const [saved] = await transaction.orm
      .update(restoreRanges)
      .set({ ...change, heldAt: sql`clock_timestamp()` })
      .where(is(range))
      .returning();
    if (!saved) return undefined;
    await journalStore.add(transaction, locked, pages, at);
    return { restore: locked, range: saved, pace: await rangeStore.pace(transaction, restore) };
  },

  /** Releases a range, whoever holds the restore now. */
  async release({ orm }: Transaction, range: RangeRow, isHeard: boolean): Promise<void> {
    await orm.update(restoreRanges).set({ isHeld: false, isHeard }).where(is(range));
  },

  async pace({ orm }: Transaction, restore: Restore): Promise<SharedPace> {
    const [row] = await orm
      .select({
        held: sql<string>`(select count(*) from ${restoreRanges} where ${of(restore)} and ${isAlive})`,
        elapsedMs: sql<string>`extract(epoch from clock_timestamp() - coalesce(${restores.rangesBeganAt}, clock_timestamp())) * 1000`,
      })
      .from(restores)
      .where(eq(restores.id, restore.id));
    return { held: Number(row?.held), elapsedMs: Math.max(0, Number(row?.elapsedMs)) };
  },

  async state({ orm }: Transaction, restore: Restore): Promise<RangesState> {
    const isUnheard = sql`${restoreRanges.epoch} > 0 and not ${restoreRanges.isComplete} and not ${restoreRanges.isHeard}`;
    const [row] = await orm
      .select({
        ranges: sql<string>`count(*)`,
        open: sql<string>`count(*) filter (where not ${restoreRanges.isComplete})`,
        held: sql<string>`count(*) filter (where ${isAlive})`,
        unheard: sql<string>`count(*) filter (where ${isUnheard})`,
        error: sql<StoredError | null>`(array_agg(${restoreRanges.error}) filter (where ${restoreRanges.error} is not null))[1]`,
      })
      .from(restoreRanges)
      .where(of(restore));
    const { ranges, open, held, unheard, error } = row!;
    return { error, ranges: Number(ranges), open: Number(open), held: Number(held), unheard: Number(unheard) };
  },

  async list({ orm }: Transaction, restore: Restore): Promise<RangeRow[]> {
    return orm.select().from(restoreRanges).where(of(restore)).orderBy(asc(restoreRanges.range));
  },

  /** Ranges of an organization's running restores that are still to be written. */
  async countOpen({ orm }: Transaction, organizationId: string): Promise<number> {
    const isOpen = and(eq(restoreRanges.isComplete, false), eq(restores.status, 'running'));
    const [row] = await orm
      .select({ open: sql<string>`count(*)` })
      .from(restoreRanges)
      .innerJoin(restores, eq(restores.id, restoreRanges.restoreId))
      .where(and(eq(restoreRanges.organizationId, organizationId), isOpen));
    return Number(row?.open);
  },

  /** A resumed restore tries again what failed, and counts it from zero. */
  async forgetFailures({ orm }: Transaction, restore: Restore): Promise<void> {
    const written = sql`${restoreRanges.written} || '{"failed": 0, "errorSample": []}'::jsonb`;
    await orm.update(restoreRanges).set({ written, error: null, failures: 0, waitingFor: null }).where(of(restore));
  },

  async clear({ orm }: Transaction, restore: Restore): Promise<void> {
    await orm.delete(restoreRanges).where(of(restore));
  },

  /** Moves the ranges of a project's restores; called before the restores themselves move. */
  async moveTo(
    { orm }: Transaction,
    { id: projectId, organizationId }: { id: string; organizationId: string },
    toOrganizationId: string,
  ): Promise<void> {
    const moved = and(eq(restores.organizationId, organizationId), eq(restores.projectId, projectId));
    const ids = orm.select({ id: restores.id }).from(restores).where(moved);
    await orm
      .update(restoreRanges)
      .set({ organizationId: toOrganizationId })
      .where(inArray(restoreRanges.restoreId, ids));
  },
};

const isAlive = sql`(${restoreRanges.isHeld} and ${restoreRanges.heldAt} > clock_timestamp() - make_interval(secs => ${sql.raw(String(silentAfterMs / secondMs))}))`;

function of({ organizationId, id }: Restore) {
  return and(eq(restoreRanges.organizationId, organizationId), eq(restoreRanges.restoreId, id));
}

/** Matches the range as long as nobody has claimed it since. */
function is({ organizationId, restoreId, range, epoch }: RangeRow) {
  return and(of({ organizationId, id: restoreId }), eq(restoreRanges.range, range), eq(restoreRanges.epoch, epoch));
}
