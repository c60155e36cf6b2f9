import {
  type BlobInfo,
  type BlobStore,
  type CallOptions,
  type DeleteOptions,
  EngineError,
  type GetOptions,
  isEngineError,
  type ListOptions,
  type LockAbility,
  type ObjectLock,
  type PutOptions,
  type Removal,
} from '@holdfast/engine';
import { putIfDifferent } from '../../storage/index.ts';

export interface Copy {
  readonly storageDestinationId: string;
  readonly store: BlobStore;
  readonly lock?: ObjectLock;
}

/**
 * Several destinations as one store. Puts go to each of them. A destination that fails is dropped and reported, and the
 * others go on until none is left. Reads come from the first one that works and has the object.
 */
export class CopiesStore implements BlobStore {
  readonly #copies: Copy[];
  readonly #onFailure: (storageDestinationId: string, error: unknown) => Promise<void>;
  #lastFailure: unknown;

  /** `failure` is the error of a destination that could not be opened; it is thrown when no other is left. */
  constructor(
    copies: readonly Copy[],
    onFailure: (storageDestinationId: string, error: unknown) => Promise<void>,
    failure?: unknown,
  ) {
    this.#copies = [...copies];
    this.#onFailure = onFailure;
    this.#lastFailure = failure;
  }

  get location(): string {
    return this.#copies.map(({ store }) => store.location).join(', ');
  }

  get working(): readonly Copy[] {
    return this.#copies;
  }

  async put(key: string, bytes: Uint8Array, options: PutOptions = {}): Promise<BlobInfo> {
    const isLastUse = options.isLastUse === true && this.#copies.length === 1;
    const outcomes = await Promise.all(
      this.#copies.map((copy) =>
        this.#orDrop(copy, () => copy.store.put(key, bytes, { ...options, isLastUse, ...lockOf(copy) })),
      ),
    );
    const stored = outcomes.find((outcome) => outcome !== undefined);
    if (stored) return stored;
    throw this.#exhausted();
  }

  /** Makes sure that every working copy has the same bytes under these keys, read back from it. */
  async replicate(keys: readonly string[], options: CallOptions = {}): Promise<void> {
    for (const key of keys) {
      const bytes = await this.get(key, options);
      for (const copy of [...this.#copies])
        await this.#orDrop(copy, () => putIfDifferent(copy.store, key, bytes, options, lockOf(copy)));
    }
    if (this.#copies.length === 0) throw this.#exhausted();
  }

  get(key: string, options?: GetOptions): Promise<Uint8Array> {
    return this.#read(({ store }) => store.get(key, options));
  }

  getRange(key: string, offset: number, length: number, options?: CallOptions): Promise<Uint8Array> {
    return this.#read(({ store }) => store.getRange(key, offset, length, options));
  }

  async head(key: string, options?: CallOptions): Promise<BlobInfo | undefined> {
    let found: BlobInfo | undefined;
    for (const copy of [...this.#copies])
      found ??= await copy.store.head(key, options).catch((error: unknown) => this.#dropReader(copy, error));
    return found;
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<BlobInfo> {
    let { startAfter } = options;
    for (;;) {
      const [copy] = this.#copies;
      if (!copy) throw this.#exhausted();
      try {
        const from = startAfter === undefined ? options : { ...options, startAfter };
        for await (const info of copy.store.list(prefix, from)) {
          startAfter = info.key;
          yield info;
        }
        return;
      } catch (error) {
        await this.#dropReader(copy, error);
      }
    }
  }

  async delete(keys: readonly string[], options?: DeleteOptions): Promise<Removal> {
    let versionsKept = false;
    for (const { store } of this.#copies)
      versionsKept = (await store.delete(keys, options)).versionsKept || versionsKept;
    return { versionsKept };
  }

  async extendLock(keys: readonly string[], lock: ObjectLock, options?: CallOptions): Promise<void> {
    for (const { store } of this.#copies) await store.extendLock(keys, lock, options);
  }

  /** Locked puts go to every copy, so each of them must be able to lock. */
  async lockAbility(options?: CallOptions): Promise<LockAbility> {
    for (const { store } of this.#copies) {
      const ability = await store.lockAbility(options);
      if (!ability.canLock) return ability;
    }
    return { canLock: true };
  }

  async close(): Promise<void> {
    await Promise.all(this.#copies.map(({ store }) => store.close()));
  }

  /** From the first copy that has it. */
  async #read<Result>(read: (copy: Copy) => Promise<Result>): Promise<Result> {
    let absent: unknown;
    for (const copy of [...this.#copies]) {
      try {
        return await read(copy);
      } catch (error) {
        if (isEngineError(error, 'STORAGE_NOT_FOUND')) absent ??= error;
        else await this.#dropReader(copy, error);
      }
    }
    throw absent ?? this.#exhausted();
  }

  async #orDrop<Result>(copy: Copy, run: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await run();
    } catch (error) {
      await this.#drop(copy, error);
      return undefined;
    }
  }

  /** Drops a copy that cannot be read while another is left. The last one is kept: it may answer the next time. */
  async #dropReader(copy: Copy, error: unknown): Promise<undefined> {
    if (this.#copies.length === 1) throw error;
    await this.#drop(copy, error);
  }

  /** A conflict comes from another worker on the same backup and is no fault of the destination. */
  async #drop(copy: Copy, error: unknown): Promise<void> {
    if (!isEngineError(error) || error.code === 'CANCELLED' || error.code === 'STORAGE_CONFLICT') throw error;
    this.#lastFailure = error;
    const at = this.#copies.indexOf(copy);
    if (at < 0) return;
    this.#copies.splice(at, 1);
    await this.#onFailure(copy.storageDestinationId, error);
    await copy.store.close();
  }

  #exhausted(): unknown {
    return this.#lastFailure ?? new EngineError('STORAGE_UPLOAD_ERROR', 'No storage destination is left to write to.');
  }
}

function lockOf({ lock }: Copy): { lock?: ObjectLock } {
  return lock ? { lock } : {};
}
