import { deleteBackup, isEngineError, removeKeyCopies } from '@holdfast/engine';
import { z } from 'zod';
import { dayMs, daySeconds, later, minuteMs } from '../../../platform/durations.ts';
import { defineJob, type Queue, type RunningJob } from '../../../platform/queue.ts';
import type { PurgeHook } from '../../organizations/index.ts';
import { isWithoutCredentials, type StoreOpener, storageStore, taskStore, withResealed } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { areKeysNeeded } from '../keys/key-copies.ts';
import { copyStore } from './copy-store.ts';

const backupsPerJob = 500;
/** Two years in all: 1, 2, 4, 8, 16 days, then every month. */
const keptMax = 28;
const pauseDaysMax = 30;
/**
 * Long enough for workers that were still writing when the organization was purged: their last call ends within this
 * time.
 */
const writersEndMs = 10 * minuteMs;

/** Settings of jobs that carry everything that is known about a destination whose row is gone. */
export const purgeJobSettings = {
  retryLimit: 1000,
  retryDelaySeconds: 10,
  timeoutSeconds: daySeconds,
  perOrganizationMax: 1,
  reseal: withResealed,
};

/**
 * Removes the objects of an organization that no longer exists. No row is left to ask, so the job carries all it needs;
 * its credentials are sealed as they were in the row.
 */
export const purgeObjectsJob = defineJob({
  name: 'organization-objects-remove',
  schema: z.object({
    purgedOrganizationId: z.string(),
    destination: z.custom<Parameters<StoreOpener['open']>[0]>((value) => typeof value === 'object' && value !== null),
    backupIds: z.array(z.string()),
    /** The destination had been removed before: if it cannot be opened, nobody waits for it. */
    isRemoved: z.boolean().default(false),
    /** How many attempts there were before. */
    kept: z.number().default(0),
  }),
  ...purgeJobSettings,
});
type PurgeObjects = z.infer<typeof purgeObjectsJob.schema>;

/** Enqueued in the transaction that removes the rows: either both happen or neither. */
export function purgeObjectsHook(queue: Queue): PurgeHook {
  return async (transaction, organizationId) => {
    const copies = await copyStore.byDestination(transaction, organizationId);
    const all = await storageStore.all(transaction, organizationId);
    const removed = await storageStore.removedFolders(transaction, organizationId);
    const removedIds = new Set(removed.map(({ id }) => id));
    const ids = new Set([...copies.keys(), ...all.map(({ id }) => id), ...removedIds]);
    // An unfinished migration has left backups where the catalogue does not have them.
    const migrated = await taskStore.migratedPlaces(transaction, organizationId);
    const everyId = [...new Set([...copies.values()].flat())];
    for (const destination of await storageStore.openable(transaction, organizationId, [...ids])) {
      const backupIds = migrated.has(destination.id) ? everyId : (copies.get(destination.id) ?? []);
      for (let start = 0; start === 0 || start < backupIds.length; start += backupsPerJob) {
        const ofJob = backupIds.slice(start, start + backupsPerJob);
        const isRemoved = removedIds.has(destination.id);
        const data = { purgedOrganizationId: organizationId, destination, backupIds: ofJob, isRemoved, kept: 0 };
        await queue.enqueue(transaction, purgeObjectsJob, data, { organizationId });
      }
    }
  };
}

/**
 * Runs twice, because workers may still have been writing the first time. What a lock keeps is tried again, more and
 * more rarely, until the lock has ended. Without its key nobody can read a backup. But a bucket that locks everything
 * also keeps the sealed keys, and we keep them too while backups that moved to another organization need them.
 */
export async function purgeObjects(context: BackupsContext, job: RunningJob<PurgeObjects>): Promise<void> {
  try {
    await purgeOnce(context, job);
  } catch (error) {
    const startAfter = nextPurgeAfterLastAttempt(context.platform.clock.now(), job);
    if (!startAfter) throw error;
    const about = { organizationId: job.data.purgedOrganizationId, storageDestinationId: job.data.destination.id };
    context.platform.log.error({ err: error, ...about }, 'objects of a purged organization are still there for now');
    await purgeAgain(context, job.data, startAfter);
  }
}

async function purgeOnce(context: BackupsContext, job: RunningJob<PurgeObjects>): Promise<void> {
  const { purgedOrganizationId, destination, backupIds, isRemoved } = job.data;
  const { database, log } = context.platform;
  if (isWithoutCredentials(destination)) {
    const about = { organizationId: purgedOrganizationId, storageDestinationId: destination.id };
    log.warn({ ...about, backupIds }, 'objects of a purged organization stay where it had no credentials');
    return;
  }
  const store = await context.stores.open(destination).catch((error: unknown) => {
    if (!isRemoved || !isEngineError(error)) throw error;
    log.warn({ err: error, organizationId: purgedOrganizationId }, 'a removed folder of a purged organization is gone');
  });
  if (!store) return;
  const refused: string[] = [];
  let keepsKeys = false;
  try {
    keepsKeys = await areKeysNeeded(context, destination, store, job.signal);
    if (!keepsKeys)
      await removeKeyCopies(store, purgedOrganizationId, { signal: job.signal }).catch((error: unknown) => {
        if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
        keepsKeys = true;
        log.error(
          { err: error, organizationId: purgedOrganizationId, storageDestinationId: destination.id },
          'a bucket keeps the sealed keys of a purged organization: with the master key its backups can be read until they go',
        );
      });
    for (const backupId of backupIds) {
      job.signal.throwIfAborted();
      // Somebody who has its key found it in the bucket and registered it: it is theirs now.
      if (await database.system((transaction) => copyStore.findAnywhere(transaction, backupId))) continue;
      await deleteBackup(store, backupId, { signal: job.signal }).catch((error: unknown) => {
        if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
        refused.push(backupId);
      });
    }
  } finally {
    await store.close();
  }
  const about = {
    organizationId: purgedOrganizationId,
    storageDestinationId: destination.id,
    backups: backupIds.length,
  };
  if (refused.length > 0) {
    const readable = keepsKeys ? '' : '; they are unreadable';
    log.warn({ ...about, refused }, `a bucket kept objects of a purged organization${readable}`);
  } else if (!keepsKeys) log.info(about, 'the objects of a purged organization were removed');
  const isFirst = job.data.kept === 0;
  const startAfter = nextPurgeAt(context.platform.clock.now(), job.data.kept, refused.length > 0 || keepsKeys);
  if (startAfter) await purgeAgain(context, { ...job.data, backupIds: isFirst ? backupIds : refused }, startAfter);
}

/**
 * When to try again. A second attempt follows the first one soon, because workers may still have been writing. While a
 * bucket keeps something, attempts become more and more rare.
 */
export function nextPurgeAt(now: Date, kept: number, isKept: boolean): Date | undefined {
  if (kept >= keptMax) return undefined;
  if (isKept) return later(now, Math.min(2 ** kept, pauseDaysMax) * dayMs);
  return kept === 0 ? later(now, writersEndMs) : undefined;
}

/**
 * After the last attempt of a job: a storage that is away this long is treated like one that keeps something. No row is
 * left that knows of it.
 */
export function nextPurgeAfterLastAttempt(now: Date, job: RunningJob<{ kept: number }>): Date | undefined {
  return job.lastAttempt && !job.signal.aborted ? nextPurgeAt(now, job.data.kept, true) : undefined;
}

async function purgeAgain({ platform }: BackupsContext, left: PurgeObjects, startAfter: Date): Promise<void> {
  const { purgedOrganizationId: organizationId, kept } = left;
  await platform.database.system((transaction) =>
    platform.queue.enqueue(transaction, purgeObjectsJob, withResealed({ ...left, kept: kept + 1 }, platform.keyring), {
      organizationId,
      startAfter,
    }),
  );
}
