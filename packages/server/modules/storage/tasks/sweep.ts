import { type BlobStore, isEngineError } from '@holdfast/engine';
import type { OrphanObject } from '../context.ts';
import type { TaskResult } from '../tables.ts';

const keysPerCall = 500;
const failuresMax = 100;

type SweepResult = Required<Pick<TaskResult, 'found' | 'removed' | 'skipped' | 'bytes' | 'failures' | 'versionsKept'>>;

/** Removes the orphans that it is given, a few hundred at a time, and counts what became of them. */
export class Sweep {
  readonly result: SweepResult = { found: 0, removed: 0, skipped: 0, bytes: 0, failures: [], versionsKept: false };
  readonly #store: BlobStore;
  readonly #signal: AbortSignal;
  #pending: OrphanObject[] = [];

  constructor(store: BlobStore, signal: AbortSignal) {
    this.#store = store;
    this.#signal = signal;
  }

  /** A batch was just removed. */
  get isFresh(): boolean {
    return this.#pending.length === 0 && this.result.found > 0;
  }

  /** Something whole is left alone. */
  keep(key: string, reason: string): void {
    this.result.skipped++;
    this.#fail(key, reason);
  }

  /** An orphan that a job elsewhere may still be writing is left alone. */
  keepYoung(): void {
    this.result.found++;
    this.result.skipped++;
  }

  async add(orphan: OrphanObject): Promise<void> {
    this.result.found++;
    this.#pending.push(orphan);
    if (this.#pending.length >= keysPerCall) await this.flush();
  }

  async flush(): Promise<void> {
    const batch = this.#pending;
    this.#pending = [];
    if (batch.length === 0) return;
    const locked = await this.#remove(batch.map(({ key }) => key));
    for (const { key, bytes } of batch) {
      const reason = locked.get(key);
      if (reason === undefined) {
        this.result.removed++;
        this.result.bytes += bytes;
      } else this.#fail(key, reason);
    }
  }

  /** The keys that could not be removed, and why. */
  async #remove(keys: readonly string[]): Promise<Map<string, string>> {
    try {
      const { versionsKept } = await this.#store.delete(keys, { signal: this.#signal });
      this.result.versionsKept ||= versionsKept;
      return new Map();
    } catch (error) {
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
      const { lockedKeys } = error.details as { lockedKeys?: string[] };
      return new Map((lockedKeys ?? keys).map((key) => [key, error.message.slice(0, 2000)]));
    }
  }

  #fail(key: string, reason: string): void {
    if (this.result.failures.length < failuresMax) this.result.failures.push({ key, reason });
  }
}
