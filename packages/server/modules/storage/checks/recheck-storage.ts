import { type BlobStore, backupsPrefix } from '@holdfast/engine';
import type { Database } from '../../../platform/database/database.ts';
import { later, minuteMs, secondMs } from '../../../platform/durations.ts';
import type { PeriodicTask } from '../../../platform/periodic.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { toJobError } from '../../job-error.ts';
import { identifyPlace } from '../access/places.ts';
import type { ExpectedBackup, StorageContext } from '../context.ts';
import { checkStorageJob } from '../jobs.ts';
import { type DestinationRow, storageStore } from '../storage-store.ts';
import { checkStorage, missingBackupsFault, type QuickCheck, recordCheck } from './check-storage.ts';

const everyMs = minuteMs;
const dueAfterMs = 10 * minuteMs;
const checksPerRunMax = 100;
const lookTimeoutMs = 30 * secondMs;
/** For the last attempt, which is not postponed for others: the destination was silent several times before. */
const lastLookTimeoutMs = 8 * secondMs;

/** Whether all default destinations work. If one does not, backups will fail until somebody fixes it. */
export async function defaultsWork(database: Database): Promise<boolean> {
  return database.system(async (transaction) => !(await storageStore.isAnyDefaultBroken(transaction)));
}

/** Enqueues checks of destinations that were not checked for a while, the oldest of each organization first. */
export function recheckTask({ platform: { database, queue, clock } }: StorageContext): PeriodicTask {
  return {
    name: 'recheck storage',
    everyMs,
    run: async () => {
      await database.system(async (transaction) => {
        const since = later(clock.now(), -dueAfterMs);
        for (const { id, organizationId } of await storageStore.unchecked(transaction, since, checksPerRunMax))
          await queue.enqueue(transaction, checkStorageJob, { organizationId, storageDestinationId: id }, { key: id });
      });
    },
  };
}

/**
 * A destination that worked gets a quick check; one in error has to pass the whole probe. A check that was stopped has
 * found nothing.
 */
export async function recheckStorage(
  context: StorageContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string }>,
): Promise<void> {
  const { database, clock } = context.platform;
  const { organizationId, storageDestinationId } = job.data;
  const { signal } = job;
  const { row, expected } = await database.tenant(organizationId, async (transaction) => ({
    row: await storageStore.find(transaction, organizationId, storageDestinationId),
    expected: await context.dependents.expectedBackups(transaction, organizationId, storageDestinationId),
  }));
  if (!row) return;
  const timeoutMs = job.lastAttempt ? lastLookTimeoutMs : lookTimeoutMs;
  const check =
    row.status === 'error'
      ? await checkStorage(context.stores, row, clock, { expected, signal })
      : await quickCheck(context, row, expected, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
  signal.throwIfAborted();
  const isUnplaced = row.placeId === null && check.status === 'connected';
  const placeId = isUnplaced ? await identifyPlace(context, row, signal).catch(() => null) : null;
  signal.throwIfAborted();
  await database.tenant(organizationId, async (transaction) => {
    const found = await storageStore.find(transaction, organizationId, storageDestinationId);
    if (!found) return;
    const locked = await storageStore.lock(transaction, organizationId, storageDestinationId);
    const placed = placeId === null ? locked : await storageStore.update(transaction, locked, { placeId });
    await recordCheck(context, transaction, placed, check);
  });
}

async function quickCheck(
  context: StorageContext,
  row: DestinationRow,
  expected: readonly ExpectedBackup[],
  signal: AbortSignal,
): Promise<QuickCheck> {
  const { clock } = context.platform;
  let store: BlobStore | undefined;
  try {
    store = await context.stores.open(row, { attemptsMax: 3 });
    for await (const _ of store.list(backupsPrefix, { signal })) break;
    const fault = await missingBackupsFault(store, expected, signal);
    if (fault) throw fault;
    return { status: 'connected', error: null, lastCheckedAt: clock.now() };
  } catch (error) {
    return { status: 'error', error: toJobError(error), lastCheckedAt: clock.now() };
  } finally {
    await store?.close();
  }
}
