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

/** What a listing can say of a backup. Without a fitting key only its id and date are known; a damaged one says how. */
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

/** Keys of one folder that are read before the listing begins again behind it: a page of most stores holds 1,000. */
const folderKeysMax = 100;

/**
 * The ids of all finished backups. Small backups share the pages of one listing, which shows their manifests too; the
 * segments of a large one are jumped over.
 */
export async function* finishedBackups(store: BlobStore, options: CallOptions = {}): AsyncGenerator<string> {
  let startAfter: string | undefined = backupsPrefix;
  while (startAfter !== undefined) startAfter = yield* finishedOfListing(store, startAfter, options);
}

/** Up to a folder that is too large; tells where to go on behind it. */
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
    // The byte behind the slash: all of the folder lies before it, whatever others call what they put there.
    return `${backupsPrefix}${folder}0`;
  }
  return undefined;
}

/** Undefined when there is none: somebody was just removing it. */
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

/** Puts the backup's data key under another wrapping key. One small object is rewritten; no data is touched. */
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

/** The same for whoever has the data key itself: the manifest must open with it, whatever wraps it now. */
export async function replaceEnvelope(
  store: BlobStore,
  backupId: string,
  { dataKey, envelope }: { readonly dataKey: Uint8Array; readonly envelope: Envelope },
  options: CallOptions = {},
): Promise<void> {
  const info = await store.head(manifestKey(backupId), options);
  const object = new ManifestObject(await store.get(manifestKey(backupId), options));
  await object.open(backupId, dataKey);
  const rewrapped = object.withClear({ ...object.clear(), envelope });
  await store.put(manifestKey(backupId), rewrapped, { ...options, ...(info ? { ifMatch: info.etag } : {}) });
}

export interface RemovedBackup extends Removal {
  readonly objects: number;
}

/**
 * Removes what is ours of a backup: the manifest first, so that what is left is never mistaken for a whole one. Objects
 * that others put beside it stay.
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
