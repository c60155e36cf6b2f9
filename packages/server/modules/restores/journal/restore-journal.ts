import {
  type JournalPage,
  type JournalSeal,
  KeyRing,
  newDataKey,
  openJournalPage,
  type SavedDocument,
  sealJournalPage,
  type WriteOutcome,
} from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import { secretOf } from '../../backups/index.ts';
import type { Rewrap } from '../../organizations/index.ts';
import type { RestoresContext } from '../context.ts';
import { type RestoreRow, restoreStore } from '../restore-store.ts';
import { journalStore, type NewPages } from './journal-store.ts';

export type KeyContext = Pick<RestoresContext, 'platform' | 'keys'>;

/** What is needed to seal and open the journal of a restore. The first holder makes the key. */
export async function journalSeal(context: KeyContext, row: RestoreRow): Promise<JournalSeal> {
  const { organizationId, id: ownerId } = row;
  return context.platform.database.tenant(organizationId, async (transaction) => {
    const { ring, currentKeyId } = await context.keys.ring(transaction, organizationId);
    const { journalEnvelope } = await restoreStore.lock(transaction, organizationId, ownerId);
    if (journalEnvelope) return { ownerId, dataKey: await ring.unwrap(ownerId, journalEnvelope) };
    const dataKey = newDataKey();
    await journalStore.setEnvelope(transaction, ownerId, {
      journalEnvelope: await ring.wrap(ownerId, dataKey),
      journalKeyId: currentKeyId,
    });
    return { ownerId, dataKey };
  });
}

/** Every page of a journal in order, each opened when it is needed. */
export async function* readJournal(
  context: KeyContext,
  row: RestoreRow,
  { first = 0, before = Number.POSITIVE_INFINITY }: { first?: number; before?: number } = {},
): AsyncGenerator<JournalPage> {
  const { organizationId, id } = row;
  if (row.journalPages === 0) return;
  if (!row.journalEnvelope) throw journalGone();
  const seal = await journalSeal(context, row);
  for (let from = first; ; ) {
    const pages = await context.platform.database.tenant(organizationId, (transaction) =>
      journalStore.pages(transaction, organizationId, id, from),
    );
    for (const { page, sealed } of pages) {
      if (page >= before) return;
      if (page !== from) throw pageMissing();
      yield await openJournalPage(sealed, seal);
      from = page + 1;
    }
    if (pages.length > 0) continue;
    if (from < Math.min(row.journalPages, before)) throw pageMissing();
    return;
  }
}

function pageMissing(): Problem {
  return new Problem('INTEGRITY_ERROR', 'A page of the journal of this restore is missing.');
}

export function journalGone(): Problem {
  return new Problem('INVALID_STATE', 'The journal of this restore is gone, so it can no longer be undone.');
}

/** Collects the outcomes of writes until they are saved, in one transaction with the checkpoint that relies on them. */
export class JournalWriter {
  readonly #seal: JournalSeal;
  readonly #append: (pages: NewPages) => Promise<void>;
  #pending: WriteOutcome[] = [];
  /** Pages that were taken but not confirmed as written. They hold the first of the pending outcomes. */
  #unsure: { readonly sealed: readonly Uint8Array[]; readonly outcomes: number } = nothingUnsure;

  /** `append` adds pages to the journal, or throws. */
  constructor(seal: JournalSeal, append: (pages: NewPages) => Promise<void>) {
    this.#seal = seal;
    this.#append = append;
  }

  get pending(): number {
    return this.#pending.length;
  }

  add(outcomes: readonly WriteOutcome[]): void {
    for (const outcome of outcomes) this.#pending.push(outcome);
  }

  /**
   * The pages to write, and a function to call once they are written. Until then the same pages are returned again:
   * perhaps only the answer was lost.
   */
  async take(): Promise<NewPages & { written(): void }> {
    const taken = this.#pending.length;
    const { sealed: before, outcomes } = this.#unsure;
    const sealed = [...before];
    for (let from = outcomes; from < taken; from += outcomesPerPage)
      sealed.push(
        await sealJournalPage(
          { outcomes: this.#pending.slice(from, Math.min(taken, from + outcomesPerPage)), saved: [] },
          this.#seal,
        ),
      );
    this.#unsure = { sealed, outcomes: taken };
    return {
      sealed,
      unsure: before.length,
      written: () => {
        this.#pending = this.#pending.slice(taken);
        this.#unsure = nothingUnsure;
      },
    };
  }

  /** Saves a version that is about to be overwritten. When this returns, it is durable. */
  async save(document: SavedDocument): Promise<void> {
    const sealed = [await sealJournalPage({ outcomes: [], saved: [document] }, this.#seal)];
    await this.#append({ sealed, unsure: 0 });
  }
}

const outcomesPerPage = 10_000;
const nothingUnsure = { sealed: [], outcomes: 0 };

/** Rewraps the keys of the journals, in the transaction of the rotation. */
export const rewrapJournals: Rewrap = async (transaction: Transaction, organizationId, keys) => {
  const wrapping = new KeyRing([secretOf(keys.wrapWith)]);
  const rows = await journalStore.envelopes(transaction, organizationId);
  for (const { id, journalEnvelope, journalKeyId } of rows) {
    if (journalKeyId === null || journalKeyId === keys.wrapWith.keyId) continue;
    const dataKey = await new KeyRing([secretOf(keys.open(journalKeyId))]).unwrap(id, journalEnvelope);
    await journalStore.setEnvelope(transaction, id, {
      journalEnvelope: await wrapping.wrap(id, dataKey),
      journalKeyId: keys.wrapWith.keyId,
    });
  }
  // The returned count is about backups, so journals are not counted.
  return 0;
};
