import { type BlobStore, isEngineError, isSamePlace } from '@holdfast/engine';
import { Problem } from '../../../platform/problem.ts';
import { toProblem } from '../../job-error.ts';
import type { StorageContext } from '../context.ts';
import { type DestinationRow, storageStore } from '../storage-store.ts';
import type { OpenOptions, StoreOpener } from './open-store.ts';
import { withStore } from './with-store.ts';

const probeTimeoutMs = 30_000;
/** A user waits. A destination that does not answer counts as another place. */
const identifyTimeoutMs = 8000;
const recordsComparedMax = 50;
const attemptsMax = 4;

/** Two records may write the same place in different ways; only an object that is written there tells. */
export async function requireOtherPlace(
  { stores }: Pick<StorageContext, 'stores'>,
  from: DestinationRow,
  to: DestinationRow,
): Promise<void> {
  const signal = AbortSignal.timeout(probeTimeoutMs);
  const isSame = await Promise.resolve()
    .then(() => stores.open(from, { attemptsMax }))
    .then((store) => isPlaceOf(stores, store, to, { attemptsMax, signal }).finally(() => store.close()))
    .catch((error: unknown) => {
      throw toProblem(error);
    });
  if (isSame)
    throw new Problem('INVALID_STATE', 'Both destinations are one place: what lies in the one lies in the other.', {
      details: { storageDestinationIds: [from.id, to.id] },
    });
}

/** Tells which other destinations are the same place as a store. Each is asked once. */
export class SamePlaces {
  readonly #stores: StoreOpener;
  readonly #store: BlobStore;
  readonly #signal: AbortSignal;
  readonly #answers = new Map<string, Promise<boolean | undefined>>();

  constructor(stores: StoreOpener, store: BlobStore, signal: AbortSignal) {
    this.#stores = stores;
    this.#store = store;
    this.#signal = signal;
  }

  /** Undefined when the other one does not answer. */
  isSame(other: DestinationRow): Promise<boolean | undefined> {
    const answer = this.#answers.get(other.id) ?? this.#ask(other);
    this.#answers.set(other.id, answer);
    return answer;
  }

  async #ask(other: DestinationRow): Promise<boolean | undefined> {
    try {
      return await isPlaceOf(this.#stores, this.#store, other, { signal: this.#signal });
    } catch (error) {
      if (this.#signal.aborted || !isEngineError(error)) throw error;
      return undefined;
    }
  }
}

async function isPlaceOf(
  stores: StoreOpener,
  store: BlobStore,
  other: DestinationRow,
  { signal, ...options }: OpenOptions & { signal: AbortSignal },
): Promise<boolean> {
  return await withStore(stores, other, (opened) => isSamePlace(store, opened, { signal }), options);
}

/**
 * The id that all records of one place share, so that copies in it count once: the id of the oldest record. A record
 * that cannot be asked counts as another place until it can.
 */
export async function identifyPlace(context: StorageContext, row: DestinationRow, stop?: AbortSignal): Promise<string> {
  const others = await context.platform.database.tenant(row.organizationId, (transaction) =>
    storageStore.all(transaction, row.organizationId),
  );
  const comparable = others
    .filter((other) => other.id !== row.id && (other.type === 'local') === (row.type === 'local'))
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
    .slice(0, recordsComparedMax);
  const timeout = AbortSignal.timeout(identifyTimeoutMs);
  const signal = stop ? AbortSignal.any([stop, timeout]) : timeout;
  const store = comparable.length === 0 ? undefined : await context.stores.open(row, { attemptsMax: 2 });
  try {
    for (const other of store ? comparable : []) {
      const isSame = await isPlaceOf(context.stores, store as BlobStore, other, { attemptsMax, signal }).catch(
        (error: unknown) => {
          if (!isEngineError(error)) throw error;
          return false;
        },
      );
      if (isSame) return other.placeId ?? other.id;
    }
  } finally {
    await store?.close();
  }
  return row.id;
}
