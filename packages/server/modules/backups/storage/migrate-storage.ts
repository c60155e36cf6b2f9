import { setTimeout as sleep } from 'node:timers/promises';
import { type BlobStore, isEngineError } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs, later, minuteMs, secondMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { type DestinationRow, storageStore, type TaskResult, type TaskRun } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { copyBackupObjects } from './copy-objects.ts';
import { copyStore } from './copy-store.ts';
import { removeAll } from './remove-objects.ts';
import { workOnDestination } from './work-on-destination.ts';

const waitMs = 2 * secondMs;
const waitMsMax = 30 * minuteMs;
const readersWaitMsMax = 10 * minuteMs;
const failuresMax = 100;

/**
 * Copies every backup and compares each copy, then switches all records in one transaction, then removes the originals.
 * All at once, because an increment is read from where its parents lie. Can be repeated after any interruption.
 */
export async function migrateStorage(context: BackupsContext, run: TaskRun): Promise<TaskResult> {
  const { destination, task, signal } = run;
  const target = await context.platform.database.tenant(destination.organizationId, (transaction) =>
    storageStore.get(transaction, destination.organizationId, task.toStorageDestinationId ?? ''),
  );
  const from = await context.stores.open(destination);
  try {
    const to = await context.stores.open(target);
    try {
      const copied = new Map<string, number>();
      const deadlineMs = performance.now() + waitMsMax;
      for (;;) {
        await copyMissing(context, run, target, { from, to }, copied);
        if (await switchAll(context, destination, target, [...copied.keys()])) break;
        if (performance.now() > deadlineMs)
          throw new Problem('CONFLICT', 'Backups or restores kept working on the destination; try again later.');
        await sleep(waitMs, undefined, { signal });
      }
      await untilRead(context, target, signal);
      const removal = await removeOriginals(context, run, target, from);
      const bytes = [...copied.values()].reduce((sum, size) => sum + size, 0);
      return { found: copied.size, copied: copied.size, bytes, ...removal };
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

async function copyMissing(
  context: BackupsContext,
  { signal, onProgress, destination }: TaskRun,
  target: DestinationRow,
  stores: { from: BlobStore; to: BlobStore },
  copied: Map<string, number>,
): Promise<void> {
  const { organizationId, id: destinationId } = destination;
  const backups = await context.platform.database.tenant(organizationId, (transaction) =>
    copyStore.completedIn(transaction, organizationId, destinationId),
  );
  const total = backups.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = [...copied.values()].reduce((sum, size) => sum + size, 0);
  const lock = target.objectLock;
  const to = {
    get: stores.to.get.bind(stores.to),
    head: stores.to.head.bind(stores.to),
    put: (key: string, bytes: Uint8Array, options: object) => {
      const retainUntil = lock && later(context.platform.clock.now(), lock.days * dayMs);
      return stores.to.put(key, bytes, {
        ...options,
        ...(lock && retainUntil ? { lock: { mode: lock.mode, retainUntil } } : {}),
      });
    },
  };
  for (const { id } of backups) {
    if (copied.has(id)) continue;
    const onObject = async (bytes: number) => {
      done += bytes;
      await onProgress(Math.min(95, Math.floor((95 * done) / Math.max(1, total))), 'Copying', done);
    };
    copied.set(id, await copyBackupObjects(id, stores.from, to, { signal, onObject }));
  }
}

/** False, and nothing changed, while something works on the destination or a backup has come that is not copied yet. */
async function switchAll(
  context: BackupsContext,
  from: DestinationRow,
  to: DestinationRow,
  backupIds: readonly string[],
): Promise<boolean> {
  const { database, clock } = context.platform;
  const { organizationId } = from;
  return database.tenant(organizationId, async (transaction) => {
    const held = await copyStore.lockCompletedIn(transaction, organizationId, from.id);
    if ((await workOn(context, transaction, from)).length > 0) return false;
    const known = new Set(backupIds);
    if (held.some((id) => !known.has(id))) return false;
    const now = clock.now();
    const lockedUntil = to.objectLock ? later(now, to.objectLock.days * dayMs) : null;
    await copyStore.moveCopies(transaction, organizationId, {
      fromId: from.id,
      toId: to.id,
      backupIds,
      lockedUntil,
      now,
    });
    return true;
  });
}

/** A restore that began while the records were switched may still read the originals. */
async function untilRead(context: BackupsContext, target: DestinationRow, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + readersWaitMsMax;
  for (;;) {
    const work = await context.platform.database.tenant(target.organizationId, (transaction) =>
      workOn(context, transaction, target),
    );
    if (work.every(({ type }) => type === 'backup') || performance.now() > deadlineMs) return;
    await sleep(waitMs, undefined, { signal });
  }
}

async function workOn(context: BackupsContext, transaction: Transaction, { organizationId, id }: DestinationRow) {
  return workOnDestination(context, transaction, organizationId, id);
}

/** What lies in the old place of a backup that has its copy in the new one: of this run, or of one that broke off here. */
async function removeOriginals(
  context: BackupsContext,
  { destination, signal, onProgress }: TaskRun,
  target: DestinationRow,
  from: BlobStore,
): Promise<Pick<TaskResult, 'removed' | 'failures'>> {
  const { organizationId } = destination;
  const moved = await context.platform.database.tenant(organizationId, (transaction) =>
    copyStore.onlyIn(transaction, organizationId, target.id, destination.id),
  );
  const failures: { key: string; reason: string }[] = [];
  let removed = 0;
  for (const [index, id] of moved.entries()) {
    try {
      await removeAll(from, id, signal);
      removed++;
    } catch (error) {
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
      if (failures.length < failuresMax) failures.push({ key: `backups/${id}/`, reason: error.message.slice(0, 2000) });
    }
    await onProgress(95 + Math.floor((4 * (index + 1)) / moved.length), 'Removing', 0);
  }
  return { removed, failures };
}
