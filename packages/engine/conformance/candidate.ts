import { randomBytes } from 'node:crypto';
import {
  type BlobStore,
  type EngineErrorCode,
  isEngineError,
  type ListOptions,
  type VersionedBlobStore,
} from '../ports/index.ts';

/** A store to examine, and the means to make the world around it fail. */
export interface Candidate {
  store: VersionedBlobStore;
  /** Switches faults on (25 % errors, 30 % throttling, 15 % delays, lost answers, damage where it can be caused) and off. */
  setFaults(on: boolean): void;
  /** A place where objects can be locked; absent when this kind of store cannot. */
  lockable?: BlobStore;
  /** A place of the same kind where they cannot; absent when every one can. */
  unlockable?: BlobStore;
  /** A place that keeps versions, behind the same faults; absent when this kind of store keeps none. */
  versioned?: VersionedBlobStore;
  /** How many objects lie there in truth, versions included, to find duplicates; absent when it cannot be told. */
  countObjects?: (prefix: string) => number;
  /** Lays more objects like the one at a key beside it, behind the store's back, where a thousand puts would take long. */
  multiply?: (key: string, keys: readonly string[]) => Promise<void>;
  /** Lays an object behind the store's back, under a name that the store itself would not give. */
  layForeign?: (key: string, bytes: Uint8Array) => Promise<void>;
  close(): Promise<void>;
}

export async function failure(promise: Promise<unknown>): Promise<EngineErrorCode | 'none'> {
  try {
    await promise;
    return 'none';
  } catch (error) {
    if (isEngineError(error)) return error.code;
    throw error;
  }
}

export async function keysOf(store: BlobStore, prefix: string, options: ListOptions = {}): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix, options)) keys.push(key);
  return keys;
}

export async function inParallel<Item>(
  items: readonly Item[],
  width: number,
  run: (item: Item) => Promise<unknown>,
): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of queue) await run(item);
    }),
  );
}

export const bytesOf = (size: number) => new Uint8Array(randomBytes(size));
export const textOf = (text: string) => new TextEncoder().encode(text);
