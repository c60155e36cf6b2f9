import { type BlobStore, backupsPrefix } from '@holdfast/engine';
import type { Database } from '../../../platform/database/database.ts';
import { later, minuteMs, secondMs } from '../../../platform/durations.ts';
import type { PeriodicTask } from '../../../platform/periodic.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { toJobError } from '../../job-error.ts';
import { identifyPlace } from '../access/places.ts';
import type { HeldBackup, StorageContext } from '../context.ts';
import { checkStorageJob } from '../jobs.ts';
import { type DestinationRow, storageStore } from '../storage-store.ts';
import { checkStorage, heldFault, recordCheck, type StorageLook } from './check-storage.ts';

const everyMs = minuteMs;
const dueAfterMs = 10 * minuteMs;
const checksPerRunMax = 100;
const lookTimeoutMs = 30 * secondMs;
/** With the last attempt, which gives way to nobody: several before it were silent already. */
const lastLookTimeoutMs = 8 * secondMs;

/** An organization's default destination that does not work: its backups will fail until somebody mends it. */
export async function defaultsWork(database: Database): Promise<boolean> {
  return database.system(async (transaction) => !(await storageStore.isAnyDefaultBroken(transaction)));
}

/** Asks for a look at every destination that nobody has looked at for a while, the longest-forgotten of each organization first. */
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
 * A destination that worked is only looked at; one that did not has to pass the whole probe before it counts as mended. A look that
 * was stopped has seen nothing.
 */
export async function recheckStorage(
  context: StorageContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string }>,
): Promise<void> {
  const { database, clock } = context.platform;
  const { organizationId, storageDestinationId } = job.data;
  const { signal } = job;
  const { row, held } = await database.tenant(organizationId, async (transaction) => ({
    row: await storageStore.find(transaction, organizationId, storageDestinationId),
    held: await context.dependents.held(transaction, organizationId, storageDestinationId),
  }));
  if (!row) return;
  const timeoutMs = job.lastAttempt ? lastLookTimeoutMs : lookTimeoutMs;
  const check =
    row.status === 'error'
      ? await checkStorage(context.stores, row, clock, { held, signal })
      : await look(context, row, held, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
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

async function look(
  context: StorageContext,
  row: DestinationRow,
  held: readonly HeldBackup[],
  signal: AbortSignal,
): Promise<StorageLook> {
  const { clock } = context.platform;
  let store: BlobStore | undefined;
  try {
    store = await context.stores.open(row, { attemptsMax: 3 });
    for await (const _ of store.list(backupsPrefix, { signal })) break;
    const fault = await heldFault(store, held, signal);
    if (fault) throw fault;
    return { status: 'connected', error: null, lastCheckedAt: clock.now() };
  } catch (error) {
    return { status: 'error', error: toJobError(error), lastCheckedAt: clock.now() };
  } finally {
    await store?.close();
  }
}
