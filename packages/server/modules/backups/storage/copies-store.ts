import {
  type BlobInfo,
  type BlobStore,
  EngineError,
  type GetOptions,
  isEngineError,
  type ListOptions,
  type PutOptions,
} from '@holdfast/engine';

export interface Copy {
  readonly storageDestinationId: string;
  readonly store: BlobStore;
  readonly lock?: NonNullable<PutOptions['lock']>;
}

/**
 * Several destinations as one store. What is put goes to each; a destination that fails is dropped and told, and the
 * others go on, until none is left. Reads come from the first that still works.
 */
export class CopiesStore implements BlobStore {
  readonly #copies: Copy[];
  readonly #onFailure: (storageDestinationId: string, error: unknown) => Promise<void>;
  #lastFailure: unknown;

  constructor(copies: readonly Copy[], onFailure: (storageDestinationId: string, error: unknown) => Promise<void>) {
    this.#copies = [...copies];
    this.#onFailure = onFailure;
  }

  get location(): string {
    return this.#copies.map(({ store }) => store.location).join(', ');
  }

  get working(): readonly Copy[] {
    return this.#copies;
  }

  async put(key: string, bytes: Uint8Array, options: PutOptions = {}): Promise<BlobInfo> {
    const outcomes = await Promise.all(this.#copies.map((copy) => this.#putInto(copy, key, bytes, options)));
    const stored = outcomes.find((outcome) => outcome !== undefined);
    if (stored) return stored;
    throw this.#exhausted();
  }

  async #putInto(copy: Copy, key: string, bytes: Uint8Array, options: PutOptions): Promise<BlobInfo | undefined> {
    try {
      const isLastUse = options.isLastUse === true && this.#copies.length === 1;
      return await copy.store.put(key, bytes, { ...options, isLastUse, ...(copy.lock ? { lock: copy.lock } : {}) });
    } catch (error) {
      // A conflict is the work of another worker on the same backup, not a fault of the destination.
      if (isEngineError(error, 'CANCELLED') || isEngineError(error, 'STORAGE_CONFLICT')) throw error;
      await this.#drop(copy, error);
      return undefined;
    }
  }

  async #drop(copy: Copy, error: unknown): Promise<void> {
    this.#lastFailure = error;
    const at = this.#copies.indexOf(copy);
    if (at < 0) return;
    this.#copies.splice(at, 1);
    await this.#onFailure(copy.storageDestinationId, error);
  }

  #exhausted(): unknown {
    return this.#lastFailure ?? new EngineError('STORAGE_UPLOAD_ERROR', 'No storage destination is left to write to.');
  }

  #first(): BlobStore {
    const [first] = this.#copies;
    if (!first) throw this.#exhausted();
    return first.store;
  }

  get(key: string, options?: GetOptions): Promise<Uint8Array> {
    return this.#first().get(key, options);
  }

  getRange(key: string, offset: number, length: number, options?: { signal?: AbortSignal }): Promise<Uint8Array> {
    return this.#first().getRange(key, offset, length, options);
  }

  head(key: string, options?: { signal?: AbortSignal }): Promise<BlobInfo | undefined> {
    return this.#first().head(key, options);
  }

  list(prefix: string, options?: ListOptions): AsyncIterable<BlobInfo> {
    return this.#first().list(prefix, options);
  }

  async delete(keys: readonly string[], options?: { signal?: AbortSignal }): Promise<void> {
    for (const { store } of this.#copies) await store.delete(keys, options);
  }

  async close(): Promise<void> {
    await Promise.all(this.#copies.map(({ store }) => store.close()));
  }
}
