import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  ListObjectVersionsCommand,
  type ObjectIdentifier,
} from '@aws-sdk/client-s3';
import {
  type HiddenObject,
  isEngineError,
  type ListOptions,
  type PurgeOptions,
  type PurgeOutcome,
} from '../../ports/index.ts';
import { AttemptError, listingDoesNotAdvance, unexpectedName } from '../attempt.ts';
import { forEachLimited } from '../for-each-limited.ts';
import { hiddenAmong, PurgeCount, type VersionEntry } from '../hidden.ts';
import { isBehind } from '../keys.ts';
import { PageCount } from '../pages.ts';
import { retrying } from '../retry.ts';
import type { S3Bucket } from './bucket.ts';
import { bucketMayLock, isLockedVersion } from './locks.ts';

const batchKeysMax = 1000;

/** Versions and delete markers below a prefix, ascending by the whole name. A name's own come together, newest first. */
export async function* versionsBelow(
  store: S3Bucket,
  Prefix: string,
  { signal, after, last }: { signal: AbortSignal | undefined; after?: string; last?: string },
): AsyncGenerator<VersionEntry> {
  let markers: { KeyMarker?: string | undefined; VersionIdMarker?: string | undefined } | undefined = {
    ...(after === undefined ? {} : { KeyMarker: after }),
  };
  const pages = new PageCount(store.location, Prefix);
  while (markers) {
    const page = await store.attempt(Prefix, signal, (call) =>
      store.client.send(new ListObjectVersionsCommand({ Bucket: store.bucket, Prefix, ...markers }), call),
    );
    // Some services begin with the named one itself.
    const found = entriesOf(page).filter(({ key }) => after === undefined || isBehind(key, after));
    yield* found;
    const isPast = last !== undefined && (page.NextKeyMarker ?? '') > last;
    const next = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
    const isStuck = next.KeyMarker === markers.KeyMarker && next.VersionIdMarker === markers.VersionIdMarker;
    if (page.IsTruncated && isStuck) throw listingDoesNotAdvance(store.location, Prefix);
    if (page.IsTruncated) pages.add((page.Versions?.length ?? 0) + (page.DeleteMarkers?.length ?? 0));
    markers = page.IsTruncated && !isPast ? next : undefined;
  }
}

interface Listed {
  Key?: string | undefined;
  VersionId?: string | undefined;
  IsLatest?: boolean | undefined;
  Size?: number | undefined;
}

/** The client sorts a page into versions and markers; here they stand by name again. */
function entriesOf(page: { Versions?: Listed[] | undefined; DeleteMarkers?: Listed[] | undefined }): VersionEntry[] {
  const entryOf =
    (isMarker: boolean) =>
    ({ Key = '', VersionId = 'null', IsLatest, Size }: Listed): VersionEntry => ({
      key: Key,
      id: VersionId,
      size: Number.isSafeInteger(Size) && Size! > 0 ? Size! : 0,
      isMarker,
      isCurrent: IsLatest === true,
    });
  const entries = [...(page.Versions ?? []).map(entryOf(false)), ...(page.DeleteMarkers ?? []).map(entryOf(true))];
  return entries.sort((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)));
}

/** A service that does not know the question keeps no versions. */
export async function* listHidden(
  store: S3Bucket,
  prefix: string,
  { signal, startAfter }: ListOptions = {},
): AsyncGenerator<HiddenObject> {
  const { Key: Prefix } = store.address(prefix);
  const after = startAfter === undefined ? {} : { after: store.address(startAfter).Key };
  try {
    const entries = versionsBelow(store, Prefix, { signal, ...after });
    for await (const object of hiddenAmong(entries, { location: store.location, needsMarker: true })) {
      if (!object.key.startsWith(Prefix)) throw unexpectedName(store.location, prefix);
      yield { ...object, key: store.keyOf(object.key) };
    }
  } catch (error) {
    if (!(error instanceof AttemptError && error.details.status === 501)) throw error;
  }
}

/**
 * Removes versions first, then the markers of objects that have nothing left. A marker removed too early would show the
 * object again.
 */
export async function purgeHidden(
  store: S3Bucket,
  objects: readonly HiddenObject[],
  { signal, dryRun = false }: PurgeOptions = {},
): Promise<PurgeOutcome> {
  const count = new PurgeCount();
  const hidden = await stillHidden(store, objects, count, signal);
  const mayLock = await bucketMayLock(store, signal);
  const staying = mayLock ? await lockedVersions(store, hidden, signal) : new Set<string>();
  if (!dryRun) await purge(store, hidden, { staying, mayLock, signal });
  for (const object of hidden) count.add(object, ({ id }) => staying.has(nameOf(object.key, id)));
  return count;
}

/** Asks once more just before the removal: somebody may have brought the object back. */
async function stillHidden(
  store: S3Bucket,
  objects: readonly HiddenObject[],
  count: PurgeCount,
  signal: AbortSignal | undefined,
): Promise<HiddenObject[]> {
  const returned = new Set<string>();
  await forEachLimited(objects, async ({ key }) => {
    if (await oneByOne(store, signal, () => store.head(key, signal ? { signal } : {}))) returned.add(key);
  });
  count.returnedKeys.push(...[...returned].sort());
  return objects.filter(({ key }) => !returned.has(key));
}

async function lockedVersions(
  store: S3Bucket,
  objects: readonly HiddenObject[],
  signal: AbortSignal | undefined,
): Promise<Set<string>> {
  const found = new Set<string>();
  const all = objects.flatMap(({ key, versions }) => versions.map(({ id }) => ({ key, id })));
  await forEachLimited(all, async ({ key, id }) => {
    if (await oneByOne(store, signal, () => isLockedVersion(store, key, id, signal))) found.add(nameOf(key, id));
  });
  return found;
}

async function purge(
  store: S3Bucket,
  objects: readonly HiddenObject[],
  { staying, mayLock, signal }: { staying: Set<string>; mayLock: boolean; signal: AbortSignal | undefined },
): Promise<void> {
  const identify = (key: string, VersionId: string) => ({ Key: store.address(key).Key, VersionId });
  const versions = objects.flatMap(({ key, versions: all }) =>
    all.filter(({ id }) => !staying.has(nameOf(key, id))).map(({ id }) => identify(key, id)),
  );
  for (const { Key, VersionId } of await removeVersions(store, versions, signal)) {
    if (!mayLock) throw mayNotRemove(store);
    staying.add(nameOf(store.keyOf(Key ?? ''), VersionId ?? ''));
  }
  const empty = objects.filter(({ key, versions: all }) => !all.some(({ id }) => staying.has(nameOf(key, id))));
  const markers = empty.flatMap(({ key, markers: all }) => all.map((id) => identify(key, id)));
  const refused = await removeVersions(store, markers, signal);
  if (refused.length > 0) throw mayNotRemove(store);
}

/** Removes these versions and returns those that were refused, for a lock or for a missing permission. */
export async function removeVersions(
  store: S3Bucket,
  objects: readonly ObjectIdentifier[],
  signal: AbortSignal | undefined,
): Promise<ObjectIdentifier[]> {
  const refused: ObjectIdentifier[] = [];
  for (let from = 0; from < objects.length; from += batchKeysMax) {
    const batch = objects.slice(from, from + batchKeysMax);
    try {
      refused.push(...(await removeTogether(store, batch, signal)));
    } catch (error) {
      if (!isRefusedAsWhole(error)) throw error;
      const remaining = await removeSingly(store, batch, signal);
      // When nothing was removed, the error about all of them is the reason.
      if (remaining.length === batch.length) throw error;
      refused.push(...remaining);
    }
  }
  return refused;
}

async function removeTogether(
  store: S3Bucket,
  batch: ObjectIdentifier[],
  signal: AbortSignal | undefined,
): Promise<ObjectIdentifier[]> {
  const refused: ObjectIdentifier[] = [];
  const Delete = { Objects: batch, Quiet: true };
  const output = await store.attempt('', signal, (call) =>
    store.client.send(new DeleteObjectsCommand({ Bucket: store.bucket, Delete }), call),
  );
  for (const { Key = '', VersionId, Code, Message } of output.Errors ?? []) {
    if (Code === 'NoSuchKey' || Code === 'NoSuchVersion') continue;
    if (Code !== 'AccessDenied')
      throw new AttemptError('STORAGE_UNAVAILABLE', `${store.location}: ${Code} on delete: ${Message}`, {
        retry: true,
        details: { code: Code },
      });
    refused.push({ Key, VersionId });
  }
  return refused;
}

/**
 * Amazon checks the permission per object. Ceph checks it for the bucket, which a policy for a prefix does not cover,
 * and some services do not know the call. There objects are removed one by one.
 */
function isRefusedAsWhole(error: unknown): boolean {
  if (!(error instanceof AttemptError)) return false;
  const { status, code } = error.details;
  return code === 'AccessDenied' || status === 405 || status === 501;
}

async function removeSingly(
  store: S3Bucket,
  batch: readonly ObjectIdentifier[],
  signal: AbortSignal | undefined,
): Promise<ObjectIdentifier[]> {
  const refused: ObjectIdentifier[] = [];
  await forEachLimited(batch, async (object) => {
    try {
      await oneByOne(store, signal, () =>
        store.attempt(object.Key ?? '', signal, (call) =>
          store.client.send(new DeleteObjectCommand({ Bucket: store.bucket, ...object }), call),
        ),
      );
    } catch (error) {
      if (isEngineError(error, 'STORAGE_NOT_FOUND')) return;
      if (!(error instanceof AttemptError && error.details.code === 'AccessDenied')) throw error;
      refused.push(object);
    }
  });
  return refused;
}

/** Retries each question by itself: all at once would hardly ever succeed together. */
function oneByOne<Result>(
  { retryPolicy: policy }: S3Bucket,
  signal: AbortSignal | undefined,
  ask: () => Promise<Result>,
): Promise<Result> {
  return retrying({ policy, signal }, ask);
}

function nameOf(key: string, id: string): string {
  return `${key}\0${id}`;
}

function mayNotRemove(store: S3Bucket): AttemptError {
  return new AttemptError(
    'STORAGE_PERMISSION_DENIED',
    `The credentials may not remove versions in ${store.location}; that takes s3:DeleteObjectVersion.`,
  );
}
