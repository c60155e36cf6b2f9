import { manifestKey } from '../../format/object-keys.ts';
import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';

const keysPerCall = 500;

/**
 * Makes a backup. If that fails, removes what it stored: without a manifest nobody would find it, and a full disk would
 * stay full.
 */
export async function withCleanupOnFailure<T>(
  { store, backupId }: { readonly store: BlobStore; readonly backupId: string },
  make: (own: WrittenObjects) => Promise<T>,
): Promise<T> {
  const own = new WrittenObjects(store);
  try {
    return await make(own);
  } catch (error) {
    await own.removeUnfinished(manifestKey(backupId)).catch(() => undefined);
    throw error;
  }
}

/**
 * Remembers what one run stored, so that exactly that can be removed. Another run may store objects under the same
 * backup id.
 */
export class WrittenObjects {
  readonly store: BlobStore;
  readonly #keys: string[] = [];

  constructor(store: BlobStore) {
    const put = async (key: string, bytes: Uint8Array, options?: PutOptions) => {
      this.#keys.push(key);
      return await store.put(key, bytes, options);
    };
    this.store = new Proxy(store, {
      get: (of, name) => {
        if (name === 'put') return put;
        const member: unknown = Reflect.get(of, name);
        return typeof member === 'function' ? member.bind(of) : member;
      },
    });
  }

  /** Removes the newest first. The manifest, if there is one, is the newest. */
  async remove(): Promise<void> {
    await this.#delete(this.#keys.toReversed());
  }

  /**
   * Removes nothing when a manifest exists: it may be that of another run, or its own, when only the answer was lost.
   */
  async removeUnfinished(manifest: string): Promise<void> {
    if (this.#keys.includes(manifest) && (await this.store.head(manifest))) return;
    await this.#delete(this.#keys.filter((key) => key !== manifest));
  }

  async #delete(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += keysPerCall)
      await this.store.delete(keys.slice(start, start + keysPerCall));
  }
}
