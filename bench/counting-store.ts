import type { BlobStore } from '@holdfast/engine';

/** Counts what is asked of a store. */
export class StoreCounter {
  reads = 0;
  bytesRead = 0;

  wrap(store: BlobStore): BlobStore {
    const count = (bytes: Uint8Array) => {
      this.reads += 1;
      this.bytesRead += bytes.length;
      return bytes;
    };
    return {
      location: store.location,
      put: (...call) => store.put(...call),
      get: async (...call) => count(await store.get(...call)),
      getRange: async (...call) => count(await store.getRange(...call)),
      head: (...call) => store.head(...call),
      list: (...call) => store.list(...call),
      delete: (...call) => store.delete(...call),
      extendLock: (...call) => store.extendLock(...call),
      lockAbility: (...call) => store.lockAbility(...call),
      close: () => store.close(),
    };
  }
}
