import { GetBucketVersioningCommand } from '@aws-sdk/client-s3';
import { type DeleteOptions, isEngineError, type Removal } from '../../ports/index.ts';
import { AttemptError, locked } from '../attempt.ts';
import type { VersionEntry } from '../hidden.ts';
import type { S3Bucket } from './bucket.ts';
import { lockedAmong } from './locks.ts';
import { removeVersions, versionsBelow } from './versions.ts';

const batchKeysMax = 1000;

/**
 * In a bucket that keeps versions, a plain delete only hides the object behind a marker and ignores locks, so locks are
 * checked first. A purge removes every version by its id. Locked objects stay and are named.
 */
export async function removeObjects(
  store: S3Bucket,
  keys: readonly string[],
  { purge = false, signal }: DeleteOptions,
): Promise<Removal> {
  const keepsVersions = await bucketKeepsVersions(store, signal);
  const refused = new Set<string>();
  const sorted = [...new Set(keys)].sort();
  for (let at = 0; at < sorted.length; at += batchKeysMax) {
    const batch = sorted.slice(at, at + batchKeysMax);
    const kept = keepsVersions && !purge ? await lockedAmong(store, batch, signal) : new Set<string>();
    for (const key of kept) refused.add(key);
    const free = batch.filter((key) => !kept.has(key));
    const remaining =
      keepsVersions && purge
        ? await removeWithVersions(store, free, signal)
        : await removeVersions(
            store,
            free.map((key) => ({ Key: store.address(key).Key })),
            signal,
          );
    for (const { Key } of remaining) refused.add(store.keyOf(Key ?? ''));
  }
  if (refused.size > 0) throw locked(store.location, [...refused].sort());
  return { versionsKept: keepsVersions && !purge, bucketKeepsVersions: keepsVersions };
}

async function bucketKeepsVersions(store: S3Bucket, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    const output = await store.attempt('', signal, (call) =>
      store.client.send(new GetBucketVersioningCommand({ Bucket: store.bucket }), call),
    );
    return output.Status !== undefined;
  } catch (error) {
    // Credentials that may not ask, or a service that does not know the question: then plain deletes are all there is.
    if (isEngineError(error, 'STORAGE_PERMISSION_DENIED') || isEngineError(error, 'VALIDATION_ERROR')) return false;
    if (error instanceof AttemptError && error.details.status === 501) return false;
    throw error;
  }
}

/** The versions go before the markers that hide them: a locked one stays hidden. */
async function removeWithVersions(store: S3Bucket, keys: readonly string[], signal: AbortSignal | undefined) {
  if (keys.length === 0) return [];
  const found = await versionsOf(store, keys, signal);
  const identify = ({ key: Key, id: VersionId }: VersionEntry) => ({ Key, VersionId });
  const versions = found.filter(({ isMarker }) => !isMarker);
  const refused = await removeVersions(store, versions.map(identify), signal);
  const staying = new Set(refused.map(({ Key }) => Key));
  const markers = found.filter(({ key, isMarker }) => isMarker && !staying.has(key));
  return [...refused, ...(await removeVersions(store, markers.map(identify), signal))];
}

async function versionsOf(
  store: S3Bucket,
  keys: readonly string[],
  signal: AbortSignal | undefined,
): Promise<VersionEntry[]> {
  const wanted = new Set(keys.map((key) => store.address(key).Key));
  const first = store.address(keys[0]!).Key;
  const last = store.address(keys.at(-1)!).Key;
  const found: VersionEntry[] = [];
  for await (const entry of versionsBelow(store, commonPrefix(first, last), { signal, last }))
    if (wanted.has(entry.key)) found.push(entry);
  return found;
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}
