import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobStore } from '../../ports/blob-store.ts';
import { createLocalStore } from './local-store.ts';

/** A folder that is gone when the work is; only sealed bytes ever lie in it. */
export async function withScratch<Result>(work: (scratch: BlobStore) => Promise<Result>): Promise<Result> {
  const root = await mkdtemp(join(tmpdir(), 'holdfast-'));
  const store = await createLocalStore({ root });
  try {
    return await work(store);
  } finally {
    await store.close();
    await rm(root, { recursive: true, force: true });
  }
}
