import {
  type BackupReader,
  type BlobStore,
  backupPrefix,
  deleteBackup,
  type Envelope,
  isEngineError,
  type ObjectLock,
} from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs, later } from '../../../platform/durations.ts';
import type { DestinationRow, TaskRun } from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import { rewrapIfOlder } from '../keys/backup-keys.ts';
import { loadBackup } from '../load-backup.ts';
import { copyBackupObjects } from './copy-objects.ts';
import { copyStore } from './copy-store.ts';
import { lockObjects } from './extend-locks.ts';
import { isCopyWhole, type ProofOptions, proveCopy } from './prove-copy.ts';

/** What one migration works with. */
export interface Migration extends TaskRun {
  target: DestinationRow;
  from: BlobStore;
  to: BlobStore;
  /** Other records of the old place: their copies are the same objects. */
  siblings: readonly string[];
  /** Records that could not be asked: they may be of the old place too. */
  unsure: readonly string[];
}

/** The copies that a migration makes: each is read in its new place before it counts. */
export class MovedCopies {
  /** Backups that lie whole in the new place, with their bytes. */
  readonly moved = new Map<string, number>();
  /** Backups that are not whole in the new place, with the reason. */
  readonly staying = new Map<string, string>();
  /** Those of them that cannot be read from any place. */
  readonly damaged = new Set<string>();
  /** Moved backups that also stay in the old place, because a backup that stays there builds on them. */
  readonly tied = new Map<string, string>();
  readonly proven = new Set<string>();
  /** As the manifests have them in the new place. */
  readonly #envelopes = new Map<string, Envelope>();
  readonly #context: BackupsContext;
  readonly #run: Migration;
  #done = 0;

  constructor(context: BackupsContext, run: Migration) {
    this.#context = context;
    this.#run = run;
  }

  failures(): { key: string; reason: string }[] {
    return [...this.staying, ...this.tied].map(([id, reason]) => ({ key: backupPrefix(id), reason }));
  }

  /** Copies all backups that are not copied yet, also new ones, bases before their increments. */
  async copyMissing(): Promise<void> {
    const { destination } = this.#run;
    const backups = await this.#context.platform.database.tenant(destination.organizationId, (transaction) =>
      copyStore.completedIn(transaction, destination),
    );
    const total = backups.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { id, parentId } of backups) {
      if (this.moved.has(id) || this.staying.has(id)) continue;
      if (parentId !== null && this.staying.has(parentId)) {
        this.staying.set(id, `${id} stays: it builds on ${parentId}, which stays.`);
        continue;
      }
      try {
        this.moved.set(id, await this.#bring(id, total));
      } catch (error) {
        if (!isDamage(error) && !isKeyless(error)) throw error;
        if (isDamage(error)) this.damaged.add(id);
        const why = isDamage(error) ? 'no whole copy of it was found' : 'its key is not available';
        this.staying.set(id, `${id} stays: ${why}. ${error.message}`.slice(0, 2000));
      }
    }
  }

  /** An increment is read from where its base lies, so the bases of what stays keep their copies beside it. */
  async tieParents(transaction: Transaction): Promise<void> {
    const { organizationId } = this.#run.destination;
    this.tied.clear();
    for (const id of this.staying.keys())
      for (
        let at = await parentOf(transaction, organizationId, id);
        at;
        at = await parentOf(transaction, organizationId, at)
      )
        if (this.moved.has(at)) this.tied.set(at, `${at} stays here too: ${id} builds on it.`);
  }

  /**
   * Rewraps manifests in the new place when a key changed after they were copied, or when an older copy was there
   * before.
   */
  async rewrapIfOlder(transaction: Transaction): Promise<void> {
    const { destination, target } = this.#run;
    const { queue } = this.#context.platform;
    for (const row of await backupStore.envelopes(transaction, destination.organizationId))
      if (this.moved.has(row.id)) await rewrapIfOlder(queue, transaction, target, row, this.#envelopes.get(row.id));
  }

  /** Objects that were there before are not sent again; their locks are extended to the common end. */
  async #bring(id: string, total: number): Promise<number> {
    const { to, signal } = this.#run;
    const wasThere = await hasObjects(to, id, signal);
    const bytes = await this.#bringWhole(id, wasThere, total);
    const lock = lockOf(this.#run);
    if (wasThere && lock) await lockObjects(to, id, lock, signal);
    return bytes;
  }

  /** When no copy anywhere is whole, throws the error of the copy in the old place. */
  async #bringWhole(id: string, wasThere: boolean, total: number): Promise<number> {
    const { from, to, target, signal } = this.#run;
    if (wasThere && (await this.#isThere(id))) return storedBytes(to, id, signal);
    // What is there already, or could not be removed later because of a lock, may be replaced only by a source that was
    // proved.
    const needsProof = wasThere || target.objectLock !== null;
    let failure: unknown;
    // The old place is read twice: bytes damaged in transit are not damage at rest.
    for await (const source of this.#sources(id, [from, from])) {
      try {
        return await this.#copy(id, source, needsProof, total);
      } catch (error) {
        // Without its key no copy can be proved, in any place.
        if (isKeyless(error)) {
          failure = error;
          break;
        }
        // When this place is damaged, another place that does not answer is no reason to wait.
        if (!isDamage(error) && (failure === undefined || signal.aborted || !isEngineError(error))) throw error;
        failure ??= error;
      }
    }
    if (!needsProof) await deleteBackup(to, id, { signal });
    throw failure;
  }

  async #copy(id: string, source: BlobStore, needsProof: boolean, total: number): Promise<number> {
    const { destination, to, signal, onProgress } = this.#run;
    const { organizationId } = destination;
    if (needsProof) await proveCopy(this.#context, organizationId, source, id, { signal, isThorough: true });
    const onObject = async (bytes: number) => {
      this.#done += bytes;
      await onProgress(Math.min(90, Math.floor((90 * this.#done) / Math.max(1, total))), 'Copying', this.#done);
    };
    const bytes = await copyBackupObjects(id, source, lockingStore(this.#run), { signal, onObject });
    await proveCopy(this.#context, organizationId, to, id, this.#proof());
    return bytes;
  }

  #proof(): ProofOptions {
    const { signal } = this.#run;
    const onOpened = ({ backupId, envelope }: BackupReader) => void this.#envelopes.set(backupId, envelope);
    return { signal, isThorough: true, proven: this.proven, onOpened };
  }

  #isThere(id: string): Promise<boolean> {
    const { destination, to } = this.#run;
    return isCopyWhole(this.#context, destination.organizationId, to, id, this.#proof());
  }

  /** The old place, then every other place that should hold the backup and can be opened. */
  async *#sources(id: string, first: readonly BlobStore[]): AsyncGenerator<BlobStore> {
    yield* first;
    const { destination, target, siblings, unsure } = this.#run;
    const { organizationId } = destination;
    const loaded = await this.#context.platform.database.tenant(organizationId, (transaction) =>
      loadBackup(this.#context, transaction, organizationId, id),
    );
    const known = [destination.id, target.id, ...siblings, ...unsure];
    for (const { storageDestinationId, status } of loaded?.copies ?? []) {
      const other = loaded?.destinations.get(storageDestinationId);
      if (status !== 'completed' || known.includes(storageDestinationId) || !other) continue;
      const store = await this.#context.stores.open(other).catch((error: unknown) => {
        if (!isEngineError(error)) throw error;
      });
      if (!store) continue;
      try {
        yield store;
      } finally {
        await store.close();
      }
    }
  }
}

async function parentOf(transaction: Transaction, organizationId: string, id: string): Promise<string | null> {
  return (await backupStore.find(transaction, organizationId, id))?.parentId ?? null;
}

/** The copy itself is damaged. A storage that does not answer is another matter. */
function isDamage(error: unknown): error is Error {
  return isEngineError(error, 'INTEGRITY_ERROR') || isEngineError(error, 'STORAGE_NOT_FOUND');
}

/** Neither the manifest's key nor the catalogue's opens: the customer withdrew the key. */
function isKeyless(error: unknown): error is Error {
  return isEngineError(error, 'DECRYPTION_ERROR');
}

export async function hasObjects(store: BlobStore, backupId: string, signal: AbortSignal): Promise<boolean> {
  for await (const _ of store.list(backupPrefix(backupId), { signal })) return true;
  return false;
}

async function storedBytes(store: BlobStore, backupId: string, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  for await (const { size } of store.list(backupPrefix(backupId), { signal })) bytes += size;
  return bytes;
}

/** One common lock time for all copies of a migration, so that no increment is locked longer than its base. */
export function lockedUntilOf({ target, task }: Migration): Date | null {
  return target.objectLock ? later(task.createdAt, (target.objectLock.days + 1) * dayMs) : null;
}

function lockOf(run: Migration): ObjectLock | undefined {
  const retainUntil = lockedUntilOf(run);
  return run.target.objectLock && retainUntil ? { mode: run.target.objectLock.mode, retainUntil } : undefined;
}

function lockingStore(run: Migration): Pick<BlobStore, 'put' | 'get' | 'head'> {
  const { to } = run;
  const lock = lockOf(run);
  return {
    get: to.get.bind(to),
    head: to.head.bind(to),
    put: (key, bytes, options) => to.put(key, bytes, { ...options, ...(lock && { lock }) }),
  };
}
