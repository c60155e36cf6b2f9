import {
  DeleteObjectsCommand,
  GetBucketVersioningCommand,
  ListObjectVersionsCommand,
  type ObjectIdentifier,
} from '@aws-sdk/client-s3';
import { type DeleteOptions, isEngineError, type Removal } from '../../ports/index.ts';
import { AttemptError, locked, standsStill } from '../attempt.ts';
import { PageCount } from '../pages.ts';
import type { S3Bucket } from './bucket.ts';
import { lockedAmong } from './locks.ts';

const batchKeysMax = 1000;

/**
 * Where the bucket keeps versions a plain delete hides the object behind a marker and would say nothing of locks, so
 * those are asked for first. A purge removes every version by its id. What is under lock stays, and is named.
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
    const objects =
      keepsVersions && purge && free.length > 0
        ? await versionsOf(store, free, signal)
        : free.map((key) => ({ Key: store.address(key).Key }));
    for (let from = 0; from < objects.length; from += batchKeysMax)
      for (const key of await removeBatch(store, objects.slice(from, from + batchKeysMax), signal)) refused.add(key);
  }
  if (refused.size > 0) throw locked(store.location, [...refused].sort());
  return { versionsKept: keepsVersions && !purge };
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

async function versionsOf(
  store: S3Bucket,
  keys: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ObjectIdentifier[]> {
  const wanted = new Set(keys.map((key) => store.address(key).Key));
  const first = store.address(keys[0]!).Key;
  const last = store.address(keys.at(-1)!).Key;
  const found: ObjectIdentifier[] = [];
  let markers: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | undefined = {};
  const Prefix = commonPrefix(first, last);
  const pages = new PageCount(store.location, Prefix);
  while (markers) {
    const page = await store.attempt(keys[0]!, signal, (call) =>
      store.client.send(new ListObjectVersionsCommand({ Bucket: store.bucket, Prefix, ...markers }), call),
    );
    for (const { Key, VersionId } of [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])])
      if (Key !== undefined && wanted.has(Key)) found.push({ Key, VersionId });
    const isPast = (page.NextKeyMarker ?? '') > last;
    const next = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
    const isStuck = next.KeyMarker === markers.KeyMarker && next.VersionIdMarker === markers.VersionIdMarker;
    if (page.IsTruncated && isStuck) throw standsStill(store.location, Prefix);
    if (page.IsTruncated) pages.add((page.Versions?.length ?? 0) + (page.DeleteMarkers?.length ?? 0));
    markers = page.IsTruncated && !isPast ? next : undefined;
  }
  return found;
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

async function removeBatch(
  store: S3Bucket,
  Objects: ObjectIdentifier[],
  signal: AbortSignal | undefined,
): Promise<Set<string>> {
  const refused = new Set<string>();
  if (Objects.length === 0) return refused;
  const output = await store.attempt('', signal, (call) =>
    store.client.send(new DeleteObjectsCommand({ Bucket: store.bucket, Delete: { Objects, Quiet: true } }), call),
  );
  for (const { Key, Code, Message } of output.Errors ?? []) {
    if (Code === 'NoSuchKey' || Code === 'NoSuchVersion') continue;
    if (Code !== 'AccessDenied')
      throw new AttemptError('STORAGE_UNAVAILABLE', `${store.location}: ${Code} on delete: ${Message}`, {
        retry: true,
        details: { code: Code },
      });
    refused.add(store.keyOf(Key ?? ''));
  }
  return refused;
}
