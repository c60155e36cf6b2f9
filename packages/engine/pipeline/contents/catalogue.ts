import type { Envelope } from '../../crypto/envelope.ts';
import type { KeyRing } from '../../crypto/key-ring.ts';
import type { ManifestBody } from '../../format/manifest-body.ts';
import { ManifestObject } from '../../format/manifest-object.ts';
import { backupPrefix, backupsPrefix, isObjectOf, isOwnerId, manifestKey } from '../../format/object-keys.ts';
import type { BlobStore, CallOptions, DeleteOptions, Removal } from '../../ports/blob-store.ts';
import { isEngineError } from '../../ports/errors.ts';
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

/** Every finished backup below the store's prefix, from the bucket alone. Objects without a manifest are no backup. */
export async function* listBackups(
  store: BlobStore,
  keys: KeyRing,
  codec: SegmentCodec,
  options: CallOptions = {},
): AsyncGenerator<CatalogueEntry> {
  for await (const backupId of backupIds(store, options)) {
    const entry = await describeBackup(store, backupId, keys, codec, options).catch((error: unknown) => {
      // Somebody was just removing it: it is no longer among the finished ones.
      if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
      throw error;
    });
    if (entry) yield entry;
  }
}

/** Jumps from one backup to the next instead of listing their segments. */
async function* backupIds(store: BlobStore, options: CallOptions): AsyncGenerator<string> {
  let startAfter = backupsPrefix;
  for (;;) {
    const first = await firstKey(store, startAfter, options);
    if (first === undefined) return;
    const backupId = first.slice(backupsPrefix.length).split('/')[0]!;
    if (isOwnerId(backupId) && (await store.head(manifestKey(backupId), options)) !== undefined) yield backupId;
    // The byte behind the slash: all of the folder lies before it, whatever others call what they put there.
    startAfter = `${backupsPrefix}${backupId}0`;
  }
}

async function firstKey(store: BlobStore, startAfter: string, options: CallOptions): Promise<string | undefined> {
  for await (const { key } of store.list(backupsPrefix, { ...options, startAfter })) return key;
  return undefined;
}

async function describeBackup(
  store: BlobStore,
  backupId: string,
  keys: KeyRing,
  codec: SegmentCodec,
  options: CallOptions,
): Promise<CatalogueEntry> {
  try {
    const { body, manifestSha256 } = await BackupReader.open({ store, backupId, keys, codec, ...options });
    return { backupId, createdAt: body.createdAt, body, manifestSha256, problem: null };
  } catch (error) {
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
