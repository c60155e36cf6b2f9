import { type BlobStore, isEngineError, logManifestKey, logPrefix } from '@holdfast/engine';
import { isUnused } from '../../../platform/database/use-locks.ts';
import { Problem } from '../../../platform/problem.ts';
import type { RunningJob } from '../../../platform/queue.ts';
import { storageStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';
import { useOfLog } from '../log-access.ts';
import { pitrStore } from '../pitr-store.ts';

const keysPerCall = 500;

/** Every object of a log that nobody wants any more, in one destination. */
export async function removeLog(
  context: PitrContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string; logId: string }>,
): Promise<void> {
  const { organizationId, storageDestinationId, logId } = job.data;
  const { database, log } = context.backups.platform;
  const destination = await database.tenant(organizationId, async (transaction) => {
    const row = await pitrStore.findByLog(transaction, logId);
    // A log that was moved and moved back lives here again.
    if (row?.storageDestinationId === storageDestinationId) return undefined;
    // Whoever opens it from now on opens it where it lies; this job comes again until those who read here are done.
    if (!(await isUnused(transaction, useOfLog(logId, storageDestinationId))))
      throw new Problem('RESOURCE_IN_USE', 'A moment is being read from here; the log goes afterwards.');
    return storageStore.find(transaction, organizationId, storageDestinationId);
  });
  if (!destination) return;
  const store = await context.backups.stores.open(destination);
  try {
    const objects = await removeLogObjects(store, logId, job.signal);
    log.info({ logId, objects }, 'a log of changes was removed');
  } catch (error) {
    if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
    log.warn({ err: error, logId }, 'objects of a removed log are locked; a sweep removes them when that is over');
  } finally {
    await store.close();
  }
}

/** The manifest first, so that nobody takes the rest for whole. */
export async function removeLogObjects(store: BlobStore, logId: string, signal: AbortSignal): Promise<number> {
  await store.delete([logManifestKey(logId)], { signal });
  let keys: string[] = [];
  let removed = 0;
  for await (const { key } of store.list(logPrefix(logId), { signal })) {
    keys.push(key);
    if (keys.length < keysPerCall) continue;
    await store.delete(keys, { signal });
    removed += keys.length;
    keys = [];
  }
  if (keys.length > 0) await store.delete(keys, { signal });
  return removed + keys.length;
}
