import type { VersionedBlobStore } from '@holdfast/engine';
import type { OpenableDestination } from '../storage-store.ts';
import type { OpenOptions, StoreOpener } from './open-store.ts';

/** Opens the store of a destination for some work, and closes it afterwards. */
export async function withStore<Result>(
  stores: Pick<StoreOpener, 'open'>,
  destination: OpenableDestination,
  work: (store: VersionedBlobStore) => Promise<Result>,
  options: OpenOptions = {},
): Promise<Result> {
  const store = await stores.open(destination, options);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
