import { type BlobStore, backupPrefix, isObjectOf, type ManifestBody, manifestKey } from '@holdfast/engine';

const keysPerCall = 500;

/** Removes objects that a dead worker stored and that the manifest does not list. */
export async function removeUnlisted(
  store: BlobStore,
  body: ManifestBody,
  signal: AbortSignal,
  descriptors?: AsyncIterable<{ id: string }>,
): Promise<void> {
  if (body.shards.length > 0 && !descriptors) return;
  const { backupId } = body;
  const listed = new Set([...body.segments, ...body.shards, ...(body.authUsers?.segments ?? [])].map(({ id }) => id));
  if (descriptors) for await (const { id } of descriptors) listed.add(id);
  let keys: string[] = [];
  for await (const { key } of store.list(backupPrefix(backupId), { signal })) {
    const isStray = isObjectOf(backupId, key) && key !== manifestKey(backupId);
    if (!isStray || listed.has(key.slice(key.lastIndexOf('/') + 1))) continue;
    keys.push(key);
    if (keys.length < keysPerCall) continue;
    await store.delete(keys, { signal });
    keys = [];
  }
  await store.delete(keys, { signal });
}
