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
/** Long enough for whoever was writing when the organization went: the last call of a worker that has noticed ends by then. */
const writersEndMs = 10 * minuteMs;

/** How jobs are tried that carry all that is left of a destination. */
export const purgeJobSettings = {
  retryLimit: 1000,
  retryDelaySeconds: 10,
  timeoutSeconds: daySeconds,
  perOrganizationMax: 1,
  reseal: withResealed,
};

/**
 * Removes the objects of an organization that no longer exists. The job carries all it needs, because no row is left to
 * ask; the credentials in it are as sealed as they were in their row.
 */
export const purgeObjectsJob = defineJob({
  name: 'organization-objects-remove',
  schema: z.object({
    purgedOrganizationId: z.string(),
    destination: z.custom<Parameters<StoreOpener['open']>[0]>((value) => typeof value === 'object' && value !== null),
    backupIds: z.array(z.string()),
    /** It was no destination any more: nobody waits until it can be reached. */
    isRemoved: z.boolean().default(false),
    /** How often it has been looked for before. */
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
    // A migration that did not come to its end has left backups where the catalogue does not have them.
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
 * It looks twice, and what a bucket keeps under a lock is tried again, ever more rarely, until the lock has ended. Without its key nobody can
 * read a backup; but a bucket that locks everything that is put into it keeps the sealed keys as well, and so do we while backups
 * that moved to another organization need them.
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
      // Somebody with its key has found it in the bucket since then, and it is theirs.
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
 * When what is left of a purged organization is looked for again: soon after the first look, which may have come before the last
 * word of those that were writing, and ever more rarely while a bucket keeps something.
 */
export function nextPurgeAt(now: Date, kept: number, isKept: boolean): Date | undefined {
  if (kept >= keptMax) return undefined;
  if (isKept) return later(now, Math.min(2 ** kept, pauseDaysMax) * dayMs);
  return kept === 0 ? later(now, writersEndMs) : undefined;
}

/** A storage that is away for longer than every try lasts is looked for again as one that keeps something: no row is left that knows of it. */
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
