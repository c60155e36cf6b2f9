import {
  type BackupReader,
  type BlobStore,
  backupPrefix,
  isEngineError,
  isObjectOf,
  type ObjectLock,
} from '@holdfast/engine';
import { dayMs, later } from '../../../platform/durations.ts';
import { type DestinationRow, withStore } from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';
import type { LoadedBackup } from '../load-backup.ts';
import { backupTimeoutMs } from '../run/backup-timeout.ts';
import { copyStore } from './copy-store.ts';

const keysPerCall = 500;

/**
 * An increment is useless without its base. So before an increment begins, the locks of its chain are extended, in each
 * destination that locks, to last at least as long as its own. One day is added, so that hourly increments do not
 * extend the locks of every object every hour. False when a destination refuses; then a full backup is needed.
 */
export async function extendLocks(
  context: BackupsContext,
  { row, copies, destinations, project }: LoadedBackup,
  chain: readonly BackupReader[],
  signal: AbortSignal,
): Promise<boolean> {
  const { database, clock } = context.platform;
  const { organizationId } = row;
  for (const copy of copies) {
    const destination = destinations.get(copy.storageDestinationId);
    if (!destination?.objectLock) continue;
    const lockedMs = destination.objectLock.days * dayMs + backupTimeoutMs(project.backupTimeoutMinutes);
    const needed = later(clock.now(), lockedMs);
    const retainUntil = later(needed, dayMs);
    for (const { backupId } of chain) {
      const known = await database.tenant(organizationId, (transaction) =>
        backupStore.copies(transaction, organizationId, [backupId]),
      );
      const { lockedUntil } = known.find((one) => one.storageDestinationId === destination.id) ?? {};
      if (lockedUntil && lockedUntil >= needed) continue;
      if (!(await extend(context, destination, backupId, retainUntil, signal))) return false;
      await database.tenant(organizationId, (transaction) =>
        copyStore.prolong(transaction, destination, backupId, retainUntil),
      );
    }
  }
  return true;
}

async function extend(
  context: BackupsContext,
  destination: DestinationRow,
  backupId: string,
  retainUntil: Date,
  signal: AbortSignal,
): Promise<boolean> {
  const lock = { mode: destination.objectLock?.mode ?? ('governance' as const), retainUntil };
  return await withStore(context.stores, destination, async (store) => {
    try {
      await lockObjects(store, backupId, lock, signal);
      return true;
    } catch (error) {
      if (isEngineError(error, 'STORAGE_PERMISSION_DENIED')) return false;
      throw error;
    }
  });
}

/** Locks every object of a backup at least until this time. */
export async function lockObjects(
  store: BlobStore,
  backupId: string,
  lock: ObjectLock,
  signal: AbortSignal,
): Promise<void> {
  let keys: string[] = [];
  for await (const { key } of store.list(backupPrefix(backupId), { signal })) {
    if (!isObjectOf(backupId, key)) continue;
    keys.push(key);
    if (keys.length < keysPerCall) continue;
    await store.extendLock(keys, lock, { signal });
    keys = [];
  }
  await store.extendLock(keys, lock, { signal });
}
