import type { Envelope } from '../../crypto/envelope.ts';
import type { KeyRing } from '../../crypto/key-ring.ts';
import type { ManifestBody } from '../../format/manifest-body.ts';
import { ManifestObject } from '../../format/manifest-object.ts';
import { backupPrefix, backupsPrefix, isObjectOf, isOwnerId, manifestKey } from '../../format/object-keys.ts';
import type { BlobStore, CallOptions, DeleteOptions, Removal } from '../../ports/blob-store.ts';
import { isEngineError } from '../../ports/errors.ts';
import { mapAhead } from '../../time/map-ahead.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import { BackupReader } from '../view/backup-reader.ts';

/** What a listing knows about a backup. Without the right key only id and date; for a damaged one, what is wrong. */
export interface CatalogueEntry {
  readonly backupId: string;
  readonly createdAt: string | null;
  readonly body: ManifestBody | null;
  readonly manifestSha256: string | null;
  readonly problem: { readonly code: string; readonly message: string } | null;
}

/** Manifests opened at a time. */
const openedAheadMax = 4;

/** Every finished backup below the store's prefix, from the bucket alone. Objects without a manifest are no backup. */
export async function* listBackups(
  store: BlobStore,
  keys: KeyRing,
  codec: SegmentCodec,
  options: CallOptions = {},
): AsyncGenerator<CatalogueEntry> {
  const describe = (backupId: string) => describeBackup(store, backupId, keys, codec, options);
  for await (const entry of mapAhead(finishedBackups(store, options), openedAheadMax, describe)) if (entry) yield entry;
}

/**
 * After this many keys of one folder, the listing starts again behind the folder: a page of most stores holds 1,000.
 */
const folderKeysMax = 100;

/**
 * The ids of all finished backups. One listing page shows the manifests of many small backups; the segments of a large
 * one are skipped.
 */
export async function* finishedBackups(store: BlobStore, options: CallOptions = {}): AsyncGenerator<string> {
  let startAfter: string | undefined = backupsPrefix;
  while (startAfter !== undefined) startAfter = yield* finishedOfListing(store, startAfter, options);
}

/** Stops at a folder that is too large and returns where to continue behind it. */
async function* finishedOfListing(
  store: BlobStore,
  startAfter: string,
  options: CallOptions,
): AsyncGenerator<string, string | undefined> {
  let folder: string | undefined;
  let keys = 0;
  let isFinished = false;
  for await (const { key } of store.list(backupsPrefix, { ...options, startAfter })) {
    const next = key.slice(backupsPrefix.length).split('/')[0]!;
    if (next !== folder) [folder, keys, isFinished] = [next, 0, false];
    keys++;
    if (isOwnerId(folder) && key === manifestKey(folder)) {
      isFinished = true;
      yield folder;
    }
    if (keys < folderKeysMax) continue;
    const isUnseen = !isFinished && isOwnerId(folder);
    if (isUnseen && (await store.head(manifestKey(folder), options)) !== undefined) yield folder;
    // The byte after the slash: everything in the folder sorts before it, whatever names others have put there.
    return `${backupsPrefix}${folder}0`;
  }
  return undefined;
}

/** Undefined when there is no manifest: the backup is just being removed. */
export async function describeBackup(
  store: BlobStore,
  backupId: string,
  keys: KeyRing,
  codec: SegmentCodec,
  options: CallOptions = {},
): Promise<CatalogueEntry | undefined> {
  try {
    const { body, manifestSha256 } = await BackupReader.open({ store, backupId, keys, codec, ...options });
    return { backupId, createdAt: body.createdAt, body, manifestSha256, problem: null };
  } catch (error) {
    if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
    if (!isEngineError(error, 'DECRYPTION_ERROR') && !isEngineError(error, 'INTEGRITY_ERROR')) throw error;
    const createdAt = await clearDate(store, backupId, options);
    return {
      backupId,
      createdAt,
      body: null,
      manifestSha256: null,
      problem: { code: error.code, message: error.message },
    };
  }
}

async function clearDate(store: BlobStore, backupId: string, options: CallOptions): Promise<string | null> {
  try {
    return new ManifestObject(await store.get(manifestKey(backupId), options)).clear().createdAt;
  } catch {
    return null;
  }
}

/** Wraps the backup's data key with another key. Rewrites only the manifest; no data is touched. */
export async function rewrapBackup(
  store: BlobStore,
  backupId: string,
  from: KeyRing,
  to: KeyRing,
  options: CallOptions = {},
): Promise<void> {
  const { envelope } = new ManifestObject(await store.get(manifestKey(backupId), options)).clear();
  const dataKey = await from.unwrap(backupId, envelope);
  await replaceEnvelope(store, backupId, { dataKey, envelope: await to.wrap(backupId, dataKey) }, options);
}

/**
 * The same for a caller that has the data key: the manifest must open with it, whatever wraps it now. One that has the
 * envelope already stays as it is.
 */
export async function replaceEnvelope(
  store: BlobStore,
  backupId: string,
  { dataKey, envelope }: { readonly dataKey: Uint8Array; readonly envelope: Envelope },
  options: CallOptions = {},
): Promise<void> {
  const info = await store.head(manifestKey(backupId), options);
  const object = new ManifestObject(await store.get(manifestKey(backupId), options));
  await object.open(backupId, dataKey);
  if (object.clear().envelope.wrapped === envelope.wrapped) return;
  const rewrapped = object.withClear({ ...object.clear(), envelope });
  await store.put(manifestKey(backupId), rewrapped, { ...options, ...(info ? { ifMatch: info.etag } : {}) });
}

export interface RemovedBackup extends Removal {
  readonly objects: number;
}

/**
 * Removes our objects of a backup, the manifest first, so that the rest never counts as a whole backup. Objects that
 * others put there stay.
 */
export async function deleteBackup(
  store: BlobStore,
  backupId: string,
  options: DeleteOptions = {},
): Promise<RemovedBackup> {
  const manifest = manifestKey(backupId);
  const isThere = (await store.head(manifest, options)) !== undefined;
  let { versionsKept } = await store.delete(isThere ? [manifest] : [], options);
  let objects = isThere ? 1 : 0;
  let keys: string[] = [];
  const flush = async () => {
    versionsKept = (await store.delete(keys, options)).versionsKept || versionsKept;
    objects += keys.length;
    keys = [];
  };
  for await (const { key } of store.list(backupPrefix(backupId), options)) {
    if (!isObjectOf(backupId, key)) continue;
    keys.push(key);
    if (keys.length >= deleteBatch) await flush();
  }
  await flush();
  return { objects, versionsKept };
}

const deleteBatch = 500;
