import { deleteBackup, isEngineError, removeKeyCopies } from '@holdfast/engine';
import { z } from 'zod';
import { dayMs, daySeconds, later } from '../../../platform/durations.ts';
import { defineJob, type Queue, type RunningJob } from '../../../platform/queue.ts';
import type { PurgeHook } from '../../organizations/index.ts';
import { isWithoutCredentials, type StoreOpener, storageStore } from '../../storage/index.ts';
import type { BackupsContext } from '../context.ts';
import { areKeysNeeded } from '../keys/key-copies.ts';
import { copyStore } from './copy-store.ts';

const backupsPerJob = 500;
/** Two years in all: 1, 2, 4, 8, 16 days, then every month. */
const keptMax = 28;
const pauseDaysMax = 30;

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
    /** How often a bucket has kept something already. */
    kept: z.number().default(0),
  }),
  retryLimit: 1000,
  retryDelaySeconds: 10,
  timeoutSeconds: daySeconds,
  perOrganizationMax: 1,
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
    for (const destination of await storageStore.openable(transaction, organizationId, [...ids])) {
      const backupIds = copies.get(destination.id) ?? [];
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
 * What a bucket keeps under a lock is tried again, ever more rarely, until the lock has ended. Without its key nobody can
 * read a backup; but a bucket that locks everything that is put into it keeps the sealed keys as well, and so do we while backups
 * that moved to another organization need them.
 */
export async function purgeObjects(context: BackupsContext, job: RunningJob<PurgeObjects>): Promise<void> {
  const { purgedOrganizationId, destination, backupIds, isRemoved } = job.data;
  const { log } = context.platform;
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
  if (refused.length > 0 || keepsKeys) await tryAgainLater(context, { ...job.data, backupIds: refused });
}

async function tryAgainLater({ platform }: BackupsContext, left: PurgeObjects): Promise<void> {
  const { queue, clock, database } = platform;
  if (left.kept >= keptMax) return;
  const startAfter = later(clock.now(), Math.min(2 ** left.kept, pauseDaysMax) * dayMs);
  await database.system((transaction) =>
    queue.enqueue(
      transaction,
      purgeObjectsJob,
      { ...left, kept: left.kept + 1 },
      { organizationId: left.purgedOrganizationId, startAfter },
    ),
  );
}
