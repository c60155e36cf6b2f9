import { type BlobStore, isEngineError } from '@holdfast/engine';
import type { TaskResult, TaskRun } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { removeObjectsJob } from '../jobs.ts';
import { copyStore } from './copy-store.ts';
import { type FoundOrphan, findOrphans } from './orphan-objects.ts';

const keysPerCall = 500;
const failuresMax = 100;

/** Removes orphans, a few hundred at a time, except those that a job elsewhere may still be writing. */
export async function sweepStorage(
  context: BackupsContext,
  { destination, signal, onProgress }: TaskRun,
): Promise<TaskResult> {
  const store = await context.stores.open(destination);
  const sweep = new Sweep(store, signal);
  try {
    for await (const orphan of findOrphans(context, destination, store, { after: undefined, signal })) {
      await sweep.add(orphan);
      if (sweep.isFresh) await onProgress(50, 'Removing', sweep.result.bytes ?? 0);
    }
    await sweep.flush();
  } finally {
    await store.close();
  }
  await removeRows(context, destination.organizationId, sweep.backupIds);
  return sweep.result;
}

/** Backups that were deleted and kept a hidden row because of locked objects can go for good now. */
async function removeRows(
  context: BackupsContext,
  organizationId: string,
  backupIds: ReadonlySet<string>,
): Promise<void> {
  const { database, queue } = context.platform;
  await database.tenant(organizationId, async (transaction) => {
    for (const id of await copyStore.deletedAmong(transaction, organizationId, backupIds))
      await queue.enqueue(transaction, removeObjectsJob, { organizationId, backupId: id }, { key: `${id}/deleted` });
  });
}

class Sweep {
  readonly result: Required<Pick<TaskResult, 'found' | 'removed' | 'bytes' | 'failures'>> = {
    found: 0,
    removed: 0,
    bytes: 0,
    failures: [],
  };
  readonly backupIds = new Set<string>();
  readonly #store: BlobStore;
  readonly #signal: AbortSignal;
  #pending: FoundOrphan[] = [];

  constructor(store: BlobStore, signal: AbortSignal) {
    this.#store = store;
    this.#signal = signal;
  }

  /** A batch has just gone. */
  get isFresh(): boolean {
    return this.#pending.length === 0 && this.result.found > 0;
  }

  async add(orphan: FoundOrphan): Promise<void> {
    this.result.found++;
    if (orphan.isYoung) return;
    if (orphan.backupId !== null) this.backupIds.add(orphan.backupId);
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
      } else if (this.result.failures.length < failuresMax) this.result.failures.push({ key, reason });
    }
  }

  /** The keys that could not be removed, and why. */
  async #remove(keys: readonly string[]): Promise<Map<string, string>> {
    try {
      await this.#store.delete(keys, { signal: this.#signal });
      return new Map();
    } catch (error) {
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
      const { lockedKeys } = error.details as { lockedKeys?: string[] };
      return new Map((lockedKeys ?? keys).map((key) => [key, error.message.slice(0, 2000)]));
    }
  }
}
