import { type BlobStore, backupPrefix, isEngineError, type ManifestBody } from '@holdfast/engine';
import type { RunningJob } from '../../../platform/queue.ts';
import { storageStore } from '../../storage/index.ts';
import { backupStore } from '../backup-store.ts';
import type { BackupsContext } from '../context.ts';

const keysPerCall = 500;

/**
 * Removes everything of a backup from all its destinations. Its manifest goes first, so that nobody takes the rest for
 * whole. Locked objects outlive their backup: its row stays, hidden, until they could be removed too.
 */
export async function removeObjects(
  context: BackupsContext,
  job: RunningJob<{ organizationId: string; backupId: string }>,
): Promise<void> {
  const { database, log } = context.platform;
  const { organizationId, backupId } = job.data;
  const found = await database.tenant(organizationId, async (transaction) => {
    const row = await backupStore.findAny(transaction, organizationId, backupId);
    const isGone = row && (row.deletedAt !== null || row.status === 'failed' || row.status === 'cancelled');
    if (!isGone) return undefined;
    const copies = await backupStore.copies(transaction, organizationId, [backupId]);
    const ids = copies.map((copy) => copy.storageDestinationId);
    return { row, destinations: await storageStore.many(transaction, organizationId, ids) };
  });
  if (!found) return;
  const { row } = found;
  // A file that was to be registered where it lies, and was not, still belongs to whoever put it there.
  const isForeign = row.imported?.inPlace === true && row.status !== 'completed';
  let isLocked = false;
  for (const destination of isForeign ? [] : found.destinations) {
    if (destination.deletedAt) continue;
    const store = await context.stores.open(destination);
    try {
      await removeAll(store, backupId, job.signal);
    } catch (error) {
      if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
      isLocked = true;
      log.warn({ err: error, backupId }, 'objects of a removed backup are locked and stay for now');
    } finally {
      await store.close();
    }
  }
  if (row.deletedAt === null || isLocked) return;
  await database.tenant(organizationId, (transaction) => backupStore.purge(transaction, organizationId, backupId));
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
