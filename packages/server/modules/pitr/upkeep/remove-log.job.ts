import { type BlobStore, isEngineError, isSamePlace, logManifestKey, logPrefix } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import { isUnused } from '../../../platform/database/use-locks.ts';
import { dayMs, later } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { type DestinationRow, storageStore, withStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { removeLogJob } from '../jobs.ts';
import { logLockName, logRemovalLockName } from '../log-access.ts';
import { pitrStore } from '../pitr-store.ts';

const keysPerCall = 500;

type Job = RunningJob<{ organizationId: string; storageDestinationId: string; logId: string }>;

/** Removes every object of a deleted log in one destination. The log cannot be moved there meanwhile. */
export async function removeLog(context: PitrContext, job: Job): Promise<void> {
  const { storageDestinationId, logId } = job.data;
  const { useLocks } = context.backups.platform.database;
  const release = await useLocks.hold([logRemovalLockName(logId, storageDestinationId)]);
  try {
    await removeUnwanted(context, job);
  } catch (error) {
    // Only this job knows of the removal; without it a rescan would find the log again.
    if (!job.lastAttempt || job.signal.aborted) throw error;
    context.backups.platform.log.error(
      { err: error, logId },
      'a log could not be removed for days; tried again tomorrow',
    );
    await removeTomorrow(context, job.data);
  } finally {
    await release();
  }
}

async function removeUnwanted(context: PitrContext, job: Job): Promise<void> {
  const { organizationId, storageDestinationId, logId } = job.data;
  const { database, log } = context.backups.platform;
  const known = await database.system((transaction) => pitrStore.findByLog(transaction, logId));
  // A log whose time was taken here, but which another organization has found for itself.
  if (known && known.organizationId !== organizationId) return;
  const found = await database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.findByLog(transaction, logId);
    // A log that was moved away and back lives here again.
    if (row?.storageDestinationId === storageDestinationId) return undefined;
    // From now on the log is opened in its new place. This job tries again until readers, and those who copy it back,
    // have finished here.
    if (!(await isUnused(transaction, logLockName(logId, storageDestinationId))))
      throw new Problem('RESOURCE_IN_USE', 'A moment is being read from here; the log goes afterwards.');
    const [destination] = await storageStore.many(transaction, organizationId, [storageDestinationId]);
    if (!destination) return undefined;
    if (destination.deletedAt !== null) return noteLeftBehind(context, transaction, job.data);
    const movedTo = row && (await storageStore.get(transaction, row.organizationId, row.storageDestinationId));
    return { destination, movedTo };
  });
  if (!found) return;
  const { destination, movedTo } = found;
  const store = await context.backups.stores.open(destination);
  try {
    const moved = movedTo && (await objectsIn(context, movedTo, store, job));
    // Its record was turned to the bucket in which the log lies now.
    if (movedTo && !moved) return;
    const objects = await removeLogObjects(store, logId, { signal: job.signal, ...(moved ? { moved } : {}) });
    log.info({ logId, objects }, 'a log of changes was removed');
  } catch (error) {
    if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
    log.warn({ err: error, logId }, 'objects of a removed log are locked and stay for now');
    await removeTomorrow(context, job.data);
  } finally {
    await store.close();
  }
}

/** The destination was removed first, so its objects can no longer be removed by anybody. */
async function noteLeftBehind(
  { backups: { audit } }: PitrContext,
  transaction: Transaction,
  { organizationId, storageDestinationId, logId }: Job['data'],
): Promise<undefined> {
  await audit.noteSystem(transaction, organizationId, {
    action: 'pitr.log_left',
    resource: { type: 'storage_destination', id: storageDestinationId },
    details: { logId },
  });
}

/** Until then the queued job marks the log as deleted: its manifest may be locked too, and a rescan would find it. */
async function removeTomorrow({ backups: { platform } }: PitrContext, data: Job['data']): Promise<void> {
  const startAfter = later(platform.clock.now(), dayMs);
  const key = `${data.logId}/${data.storageDestinationId}/${startAfter.getTime()}`;
  await platform.database.tenant(data.organizationId, (transaction) =>
    platform.queue.enqueue(transaction, removeLogJob, data, { key, startAfter }),
  );
}

/** The keys of a log's objects in the destination that it was moved to; undefined when that is the place it is removed from. */
async function objectsIn(
  { backups: { stores } }: PitrContext,
  movedTo: DestinationRow,
  from: BlobStore,
  { data: { logId }, signal }: Job,
): Promise<Set<string> | undefined> {
  return await withStore(stores, movedTo, async (store) => {
    if (await isSamePlace(store, from, { signal })) return undefined;
    const keys = new Set<string>();
    for await (const { key } of store.list(logPrefix(logId), { signal })) keys.add(key);
    return keys;
  });
}

interface RemoveOptions {
  readonly signal: AbortSignal;
  /**
   * The objects in the place to which the log was moved. Objects missing there are not removed here, because the
   * catalogue may be older than the log.
   */
  readonly moved?: ReadonlySet<string>;
}

/** Removes the manifest first, so that the rest never counts as a whole log. */
export async function removeLogObjects(
  store: BlobStore,
  logId: string,
  { signal, moved }: RemoveOptions,
): Promise<number> {
  const manifest = logManifestKey(logId);
  if (moved === undefined || moved.has(manifest)) await store.delete([manifest], { signal });
  let keys: string[] = [];
  let removed = 0;
  for await (const { key } of store.list(logPrefix(logId), { signal })) {
    if (moved?.has(key) === false) continue;
    keys.push(key);
    if (keys.length < keysPerCall) continue;
    await store.delete(keys, { signal });
    removed += keys.length;
    keys = [];
  }
  if (keys.length > 0) await store.delete(keys, { signal });
  return removed + keys.length;
}
