import type { Transaction } from '../../../platform/database/database.ts';
import { and, asc, eq, gte, inArray, isNotNull, lt, sql } from '../../../platform/database/orm.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';
import { restoreJournal, restores } from '../tables.ts';

const pagesAtOnce = 4;

/** Pages to add to a journal, in their order. */
export interface NewPages {
  readonly sealed: readonly Uint8Array[];
  /** How many of the first pages may be stored already: they were sent before, and the answer was lost. */
  readonly unsure: number;
}

export const noPages: NewPages = { sealed: [], unsure: 0 };

/** All SQL on the journals of restores. */
export const journalStore = {
  /** Appends pages. The caller holds the restore or one of its ranges, and has locked the row. */
  async add(transaction: Transaction, locked: RestoreRow, pages: NewPages, at: Date): Promise<void> {
    const { orm } = transaction;
    const sealed = pages.unsure > 0 ? await journalStore.missing(transaction, locked, pages) : pages.sealed;
    if (sealed.length === 0) return;
    await orm.insert(restoreJournal).values(
      sealed.map((bytes, index) => ({
        organizationId: locked.organizationId,
        restoreId: locked.id,
        page: locked.journalPages + index,
        sealed: Buffer.from(bytes),
        createdAt: at,
      })),
    );
    const journalPages = locked.journalPages + sealed.length;
    await orm.update(restores).set({ journalPages }).where(eq(restores.id, locked.id));
  },

  /** The pages that are not stored yet. Two pages are never sealed to the same bytes, so each can be recognized. */
  async missing({ orm }: Transaction, { id }: RestoreRow, { sealed, unsure }: NewPages): Promise<Uint8Array[]> {
    const asked = sealed.slice(0, unsure).map((bytes) => Buffer.from(bytes));
    const there = await orm
      .select({ sealed: restoreJournal.sealed })
      .from(restoreJournal)
      .where(and(eq(restoreJournal.restoreId, id), inArray(restoreJournal.sealed, asked)));
    return sealed.filter((bytes) => there.every((page) => Buffer.compare(page.sealed, bytes) !== 0));
  },

  /** Appends what was found out about the last writes of an ended restore, once. Returns the updated row. */
  async complete(
    transaction: Transaction,
    { organizationId, id }: RestoreRow,
    sealed: readonly Uint8Array[],
    at: Date,
  ): Promise<RestoreRow> {
    const locked = await restoreStore.lock(transaction, organizationId, id);
    const isOpen = locked.status === 'pending' || locked.status === 'running';
    if (isOpen || locked.checkpoint.isHeard) return locked;
    for (const [index, bytes] of sealed.entries())
      await transaction.orm.insert(restoreJournal).values({
        organizationId,
        restoreId: id,
        page: locked.journalPages + index,
        sealed: Buffer.from(bytes),
        createdAt: at,
      });
    return restoreStore.update(transaction, organizationId, id, {
      journalPages: locked.journalPages + sealed.length,
      checkpoint: { ...locked.checkpoint, isHeard: true },
    });
  },

  /** Some pages from this one on, in order. */
  async pages(
    { orm }: Transaction,
    organizationId: string,
    restoreId: string,
    from: number,
  ): Promise<{ page: number; sealed: Buffer }[]> {
    return orm
      .select({ page: restoreJournal.page, sealed: restoreJournal.sealed })
      .from(restoreJournal)
      .where(
        and(
          eq(restoreJournal.organizationId, organizationId),
          eq(restoreJournal.restoreId, restoreId),
          gte(restoreJournal.page, from),
        ),
      )
      .orderBy(asc(restoreJournal.page))
      .limit(pagesAtOnce);
  },

  /**
   * Removes old journals, except those that an undo reads. Their restores can no longer be undone. Returns how many
   * restores were affected.
   */
  async expire(transaction: Transaction, before: Date, limit: number): Promise<number> {
    const isRead = sql`exists (select 1 from restores u where u.undo_of = ${restores.id} and u.status in ('pending', 'running'))`;
    const old = await transaction.orm
      .selectDistinct({ id: restoreJournal.restoreId })
      .from(restoreJournal)
      .innerJoin(restores, eq(restores.id, restoreJournal.restoreId))
      .where(
        and(
          lt(restores.completedAt, before),
          inArray(restores.status, ['completed', 'failed', 'cancelled']),
          sql`not ${isRead}`,
        ),
      )
      .limit(limit);
    for (const { id } of old) await journalStore.drop(transaction, id);
    return old.length;
  },

  async drop({ orm }: Transaction, restoreId: string): Promise<void> {
    await orm.delete(restoreJournal).where(eq(restoreJournal.restoreId, restoreId));
    await orm.update(restores).set({ journalEnvelope: null, journalKeyId: null }).where(eq(restores.id, restoreId));
  },

  /** Moves the pages, which are sealed with the key in their restore's envelope. */
  async moveTo({ orm }: Transaction, restoreId: string, organizationId: string): Promise<void> {
    await orm.update(restoreJournal).set({ organizationId }).where(eq(restoreJournal.restoreId, restoreId));
  },

  /** Of all restores of an organization that have a journal, what its key needs: what was restored may be a megabyte of names. */
  async envelopes({ orm }: Transaction, organizationId: string) {
    const { id, projectId, targetProjectId, journalEnvelope, journalKeyId } = restores;
    return orm
      .select({ id, projectId, targetProjectId, journalEnvelope, journalKeyId })
      .from(restores)
      .where(and(eq(restores.organizationId, organizationId), isNotNull(journalEnvelope)));
  },

  async setEnvelope(
    { orm }: Transaction,
    restoreId: string,
    change: Pick<RestoreRow, 'journalEnvelope' | 'journalKeyId'>,
  ): Promise<void> {
    await orm
      .update(restores)
      .set({ ...change, version: sql`${restores.version} + 1` })
      .where(eq(restores.id, restoreId));
  },
};
