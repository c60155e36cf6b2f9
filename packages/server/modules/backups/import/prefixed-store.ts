import type {
  BlobInfo,
  BlobStore,
  DeleteOptions,
  GetOptions,
  ListOptions,
  LockAbility,
  ObjectLock,
  PutOptions,
  Removal,
} from '@holdfast/engine';

type CallOptions = { signal?: AbortSignal };

/** A folder of a store as a store of its own. Closing it closes nothing: the store belongs to whoever opened it. */
export class PrefixedStore implements BlobStore {
  readonly #store: BlobStore;
  readonly #prefix: string;

  constructor(store: BlobStore, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
  }

  get location(): string {
    return `${this.#store.location}${this.#prefix}`;
  }

  async put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo> {
    return this.#within(await this.#store.put(this.#prefix + key, bytes, options));
  }

  get(key: string, options?: GetOptions): Promise<Uint8Array> {
    return this.#store.get(this.#prefix + key, options);
  }

  getRange(key: string, offset: number, length: number, options?: CallOptions): Promise<Uint8Array> {
    return this.#store.getRange(this.#prefix + key, offset, length, options);
  }

  async head(key: string, options?: CallOptions): Promise<BlobInfo | undefined> {
    const info = await this.#store.head(this.#prefix + key, options);
    return info && this.#within(info);
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<BlobInfo> {
    const { startAfter, ...rest } = options;
    const from = startAfter === undefined ? rest : { ...rest, startAfter: this.#prefix + startAfter };
    for await (const info of this.#store.list(this.#prefix + prefix, from)) yield this.#within(info);
  }

  delete(keys: readonly string[], options?: DeleteOptions): Promise<Removal> {
    return this.#store.delete(
      keys.map((key) => this.#prefix + key),
      options,
    );
  }

  extendLock(keys: readonly string[], lock: ObjectLock, options?: CallOptions): Promise<void> {
    return this.#store.extendLock(
      keys.map((key) => this.#prefix + key),
      lock,
      options,
    );
  }

  lockAbility(options?: CallOptions): Promise<LockAbility> {
    return this.#store.lockAbility(options);
  }

  async close(): Promise<void> {}

  #within(info: BlobInfo): BlobInfo {
    return { ...info, key: info.key.slice(this.#prefix.length) };
  }
}
