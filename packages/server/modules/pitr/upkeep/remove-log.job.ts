import { logPrefix } from '@holdfast/engine';
import type { RunningJob } from '../../../platform/queue.ts';
import { storageStore } from '../../storage/index.ts';
import type { PitrContext } from '../context.ts';

const keysPerCall = 500;

/** Every object of a log, its manifest first, so that nobody takes the rest for whole. */
export async function removeLog(
  context: PitrContext,
  job: RunningJob<{ organizationId: string; storageDestinationId: string; logId: string }>,
): Promise<void> {
  const { organizationId, storageDestinationId, logId } = job.data;
  const { database, log } = context.backups.platform;
  const destination = await database.tenant(organizationId, (transaction) =>
    storageStore.find(transaction, organizationId, storageDestinationId),
  );
  if (!destination) return;
  const store = await context.backups.stores.open(destination);
  try {
    await store.delete([`${logPrefix(logId)}manifest`], { signal: job.signal });
    let keys: string[] = [];
    let removed = 0;
    for await (const { key } of store.list(logPrefix(logId), { signal: job.signal })) {
      keys.push(key);
      if (keys.length < keysPerCall) continue;
      await store.delete(keys, { signal: job.signal });
      removed += keys.length;
      keys = [];
    }
    if (keys.length > 0) await store.delete(keys, { signal: job.signal });
    log.info({ logId, objects: removed + keys.length }, 'a log of changes was removed');
  } finally {
    await store.close();
  }
}
