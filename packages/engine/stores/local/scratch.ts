import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobStore } from '../../ports/blob-store.ts';
import { createLocalStore } from './local-store.ts';

export interface Scratch {
  readonly store: BlobStore;
  remove(): Promise<void>;
}

/** A folder that only sealed bytes ever lie in; whoever opened it removes it. */
export async function openScratch(): Promise<Scratch> {
  const root = await mkdtemp(join(tmpdir(), 'holdfast-'));
  const store = await createLocalStore({ root });
  return {
    store,
    remove: async () => {
      await store.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** A folder that is gone when the work is. */
export async function withScratch<Result>(work: (scratch: BlobStore) => Promise<Result>): Promise<Result> {
  const scratch = await openScratch();
  try {
    return await work(scratch.store);
  } finally {
    await scratch.remove();
  }
}
