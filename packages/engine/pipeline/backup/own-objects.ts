import { manifestKey } from '../../format/object-keys.ts';
import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';

const keysPerCall = 500;

/**
 * Makes a backup. If that fails, what was stored so far is taken away again: without a manifest nobody finds it, and a disk
 * that is full would stay so.
 */
export async function leavingNothing<T>(
  { store, backupId }: { readonly store: BlobStore; readonly backupId: string },
  make: (own: OwnObjects) => Promise<T>,
): Promise<T> {
  const own = new OwnObjects(store);
  try {
    return await make(own);
  } catch (error) {
    await own.removeUnfinished(manifestKey(backupId)).catch(() => undefined);
    throw error;
  }
}

/**
 * Knows what one run puts into a store, so that it can take exactly that away again: what another run makes under the same id
 * lies beside it.
 */
export class OwnObjects {
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

  /** The newest first, which is the manifest where there is one. */
  async remove(): Promise<void> {
    await this.#delete(this.#keys.toReversed());
  }

  /** Nothing where a manifest is there: its own, of which only the answer was lost, or that of another run. */
  async removeUnfinished(manifest: string): Promise<void> {
    if (this.#keys.includes(manifest) && (await this.store.head(manifest))) return;
    await this.#delete(this.#keys.filter((key) => key !== manifest));
  }

  async #delete(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += keysPerCall)
      await this.store.delete(keys.slice(start, start + keysPerCall));
  }
}
