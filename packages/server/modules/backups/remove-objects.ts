import { type BlobStore, backupPrefix, isEngineError, type ManifestBody } from '@holdfast/engine';
import type { RunningJob } from '../../platform/queue.ts';
import { backupStore } from './backup-store.ts';
import type { BackupsContext } from './context.ts';
import { loadBackup } from './load-backup.ts';

const keysPerCall = 500;

/** Removes everything of a backup from all its destinations. Its manifest goes first, so that nobody takes the rest for whole. */
export async function removeObjects(
  context: BackupsContext,
  job: RunningJob<{ organizationId: string; backupId: string }>,
): Promise<void> {
  const { database } = context.platform;
  const { organizationId, backupId } = job.data;
  const loaded = await database.tenant(organizationId, async (transaction) => {
    const found = await loadBackup(context, transaction, organizationId, backupId);
    const isGone =
      found && (found.row.deletedAt !== null || found.row.status === 'failed' || found.row.status === 'cancelled');
    return isGone ? found : undefined;
  });
  if (!loaded) return;
  for (const destination of loaded.destinations.values()) {
    const store = await context.stores.open(destination);
    try {
      await removeAll(store, backupId, job.signal);
    } catch (error) {
      // A locked object outlives its backup until its lock ends; the sweep takes it then.
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
      context.platform.log.warn({ err: error, backupId }, 'objects of a removed backup are locked and stay for now');
    } finally {
      await store.close();
    }
  }
  if (loaded.row.deletedAt !== null) {
    await database.tenant(organizationId, async (transaction) => {
      const row = await backupStore.findAny(transaction, organizationId, backupId);
      if (row?.deletedAt) await backupStore.purge(transaction, organizationId, backupId);
    });
  }
}

export async function removeAll(store: BlobStore, backupId: string, signal: AbortSignal): Promise<void> {
  const prefix = backupPrefix(backupId);
  await store.delete([`${prefix}manifest`], { signal });
  for (let found = true; found; ) found = await removeListed(store, prefix, () => true, signal);
}

/** Removes what a dead worker stored and the manifest does not list. */
export async function removeUnlisted(
  store: BlobStore,
  body: ManifestBody,
  signal: AbortSignal,
  descriptors?: AsyncIterable<{ id: string }>,
): Promise<void> {
  const prefix = backupPrefix(body.backupId);
  const listed = new Set([...body.segments, ...body.shards, ...(body.authUsers?.segments ?? [])].map(({ id }) => id));
  if (descriptors) for await (const { id } of descriptors) listed.add(id);
  if (body.shards.length > 0 && !descriptors) return;
  await removeListed(
    store,
    prefix,
    (key) => key !== `${prefix}manifest` && !listed.has(key.slice(key.lastIndexOf('/') + 1)),
    signal,
  );
}

async function removeListed(
  store: BlobStore,
  prefix: string,
  wanted: (key: string) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  let keys: string[] = [];
  let removed = false;
  for await (const { key } of store.list(prefix, { signal })) {
    if (!wanted(key)) continue;
    keys.push(key);
    if (keys.length < keysPerCall) continue;
    await store.delete(keys, { signal });
    removed = true;
    keys = [];
  }
  if (keys.length > 0) await store.delete(keys, { signal });
  return removed;
}
