import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';

const keysPerCall = 500;

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
    const keys = this.#keys.toReversed();
    for (let start = 0; start < keys.length; start += keysPerCall)
      await this.store.delete(keys.slice(start, start + keysPerCall));
  }
}
