import { isEngineError, logPrefix } from '@holdfast/engine';
import type { Queue, RunningJob } from '../../../platform/queue.ts';
import { nextPurgeAfterLastAttempt, nextPurgeAt } from '../../backups/index.ts';
import type { PurgeHook } from '../../organizations/index.ts';
import { isWithoutCredentials, storageStore, taskStore, withResealed, withStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { type PurgeLogs, purgeLogsJob, removeLogJob } from '../jobs.ts';
import { pitrStore } from '../pitr-store.ts';
import { removeLogObjects } from '../upkeep/remove-log.job.ts';

/**
 * Enqueued in the transaction that removes the rows, for logs, for the logs from which they took time, and for logs
 * whose removal is still queued.
 */
export function purgeLogsHook(queue: Queue): PurgeHook {
  return async (transaction, organizationId) => {
    const logs = await pitrStore.ofOrganization(transaction, organizationId);
    const leaving = (await queue.open(removeLogJob)).filter((removal) => removal.organizationId === organizationId);
    const all = [...logs, ...logs.flatMap(({ joined }) => joined), ...leaving];
    const logIdsIn = new Map<string, Set<string>>();
    const add = (place: string, logId: string) => logIdsIn.set(place, (logIdsIn.get(place) ?? new Set()).add(logId));
    // An unfinished migration has left a part of each log in either place.
    const known = await storageStore.all(transaction, organizationId);
    const everMigrated = await taskStore.migratedPlaces(transaction, organizationId);
    const migrated = known.flatMap(({ id }) => (everMigrated.has(id) ? [id] : []));
    for (const { logId, storageDestinationId } of all) {
      const owner = await pitrStore.findByLog(transaction, logId);
      if (owner && owner.organizationId !== organizationId) continue;
      add(storageDestinationId, logId);
      if (everMigrated.has(storageDestinationId)) for (const place of migrated) add(place, logId);
    }
    for (const destination of await storageStore.openable(transaction, organizationId, [...logIdsIn.keys()])) {
      const logIds = [...logIdsIn.get(destination.id)!];
      const data = { purgedOrganizationId: organizationId, destination, logIds, kept: 0 };
      await queue.enqueue(transaction, purgeLogsJob, data, { organizationId });
    }
  };
}

/** A locked object is tried again until its lock ends. Without its key nobody can read it. */
export async function purgeLogs(context: PitrContext, job: RunningJob<PurgeLogs>): Promise<void> {
  const { log, clock } = context.backups.platform;
  try {
    await purgeOnce(context, job);
  } catch (error) {
    const startAfter = nextPurgeAfterLastAttempt(clock.now(), job);
    if (!startAfter) throw error;
    log.error(
      { err: error, organizationId: job.data.purgedOrganizationId },
      'logs of a purged organization are still there for now',
    );
    await purgeAgain(context, job.data, startAfter);
  }
}

async function purgeOnce(context: PitrContext, job: RunningJob<PurgeLogs>): Promise<void> {
  const { destination, logIds, purgedOrganizationId: organizationId, kept } = job.data;
  const { log, clock, database } = context.backups.platform;
  if (isWithoutCredentials(destination)) {
    log.warn({ organizationId, logIds }, 'logs of a purged organization stay where it had no credentials');
    return;
  }
  let isKept = false;
  await withStore(context.backups.stores, destination, async (store) => {
    for (const logId of logIds) {
      // Somebody who has its key has found and registered it since then.
      if (await database.system((transaction) => pitrStore.findByLog(transaction, logId))) continue;
      await removeLogObjects(store, logId, job).catch((error: unknown) => {
        if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
        log.warn({ organizationId, prefix: logPrefix(logId) }, 'a bucket kept a log of a purged organization');
        isKept = true;
      });
    }
  });
  const startAfter = nextPurgeAt(clock.now(), kept, isKept);
  if (startAfter) await purgeAgain(context, job.data, startAfter);
}

async function purgeAgain({ backups: { platform } }: PitrContext, left: PurgeLogs, startAfter: Date): Promise<void> {
  const { purgedOrganizationId: organizationId, kept } = left;
  await platform.database.system((transaction) =>
    platform.queue.enqueue(transaction, purgeLogsJob, withResealed({ ...left, kept: kept + 1 }, platform.keyring), {
      organizationId,
      startAfter,
    }),
  );
}
