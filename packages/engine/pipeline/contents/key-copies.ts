import {
  type KeyCopy,
  keyCopyBytesMax,
  keyCopyName,
  openKeyCopy,
  sealKeyCopy,
  secretsOf,
} from '../../crypto/key-copy.ts';
import { KeyRing } from '../../crypto/key-ring.ts';
import { ManifestObject } from '../../format/manifest-object.ts';
import { keyCopyKey, keyCopyPrefix, keysPrefix, manifestKey, ownerOfKeyCopy } from '../../format/object-keys.ts';
import type { BlobStore, CallOptions, Removal } from '../../ports/blob-store.ts';
import { EngineError, isEngineError } from '../../ports/errors.ts';

/** Reading stops after this many copies. */
const copiesMax = 10_000;

export interface FoundKeyCopy extends KeyCopy {
  /** The key of its object. */
  readonly place: string;
}

export interface FoundKeys {
  readonly copies: readonly FoundKeyCopy[];
  /** Copies that no master key at hand opens. */
  readonly unopened: number;
}

/** Reads the key copies in a store, of one organization or of all, as far as they open. */
export async function readKeyCopies(
  store: BlobStore,
  copyKeys: readonly Uint8Array[],
  { of, ...options }: CallOptions & { readonly of?: string } = {},
): Promise<FoundKeys> {
  const copies: FoundKeyCopy[] = [];
  let unopened = 0;
  let seen = 0;
  for await (const { key, size } of store.list(of === undefined ? keysPrefix : keyCopyPrefix(of), options)) {
    const organizationId = ownerOfKeyCopy(key);
    if (organizationId === undefined || size > keyCopyBytesMax) continue;
    if (++seen > copiesMax) break;
    const bytes = await store.get(key, { ...options, bytesMax: keyCopyBytesMax }).catch((error: unknown) => {
      // A newer copy has replaced it since the listing.
      if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
      throw error;
    });
    if (!bytes) continue;
    const copy = openKeyCopy(copyKeys, organizationId, bytes);
    if (copy) copies.push({ ...copy, place: key });
    else unopened++;
  }
  return { copies, unopened };
}

/** The object key of these keys under this master key. */
export function placeOfKeyCopy(copyKey: Uint8Array, copy: KeyCopy): string {
  return keyCopyKey(copy.organizationId, keyCopyName(copyKey, copy));
}

/** Stores the keys beside the backups and reads them back. Says whether they were there already. */
export async function putKeyCopy(
  store: BlobStore,
  copyKey: Uint8Array,
  copy: KeyCopy,
  options: CallOptions = {},
): Promise<{ key: string; wasThere: boolean }> {
  const key = placeOfKeyCopy(copyKey, copy);
  if ((await store.head(key, options)) !== undefined) return { key, wasThere: true };
  await store.put(key, sealKeyCopy(copyKey, copy), options);
  const bytes = await store.get(key, { ...options, bytesMax: keyCopyBytesMax });
  if (openKeyCopy([copyKey], copy.organizationId, bytes) === undefined)
    throw new EngineError('STORAGE_UPLOAD_ERROR', 'The copy of the keys does not open after it was stored.');
  return { key, wasThere: false };
}

/** Removes every copy of an organization's keys, with all versions. Objects with other names are left alone. */
export async function removeKeyCopies(
  store: BlobStore,
  organizationId: string,
  options: CallOptions = {},
): Promise<Removal> {
  const keys: string[] = [];
  for await (const { key } of store.list(keyCopyPrefix(organizationId), options))
    if (ownerOfKeyCopy(key) === organizationId) keys.push(key);
  return store.delete(keys, { ...options, purge: true });
}

/**
 * Finds the first of these backups in the store that the copies of its own organization's keys do not open, but that
 * this organization's keys open or might open. Without them, the store and the master key would no longer be enough. In
 * doubt they are needed.
 */
export async function firstBackupThatNeeds(
  store: BlobStore,
  copyKeys: readonly Uint8Array[],
  organizationId: string,
  backups: Iterable<{ readonly id: string; readonly organizationId: string }>,
  options: CallOptions = {},
): Promise<string | undefined> {
  const found = new Map<string, Promise<FoundKeys>>();
  const keysOf = (of: string) => {
    const keys = found.get(of) ?? readKeyCopies(store, copyKeys, { ...options, of });
    found.set(of, keys);
    return keys;
  };
  for (const backup of backups) {
    const manifest = await store.get(manifestKey(backup.id), options).catch((error: unknown) => {
      if (isEngineError(error, 'STORAGE_NOT_FOUND')) return undefined;
      throw error;
    });
    if (!manifest || (await opens(await keysOf(backup.organizationId), backup.id, manifest)) === 'yes') continue;
    if ((await opens(await keysOf(organizationId), backup.id, manifest)) !== 'no') return backup.id;
  }
  return undefined;
}

async function opens({ copies, unopened }: FoundKeys, backupId: string, manifest: Uint8Array) {
  const ring = new KeyRing(copies.flatMap(({ keys }) => secretsOf(keys)));
  try {
    await ring.unwrap(backupId, new ManifestObject(manifest).clear().envelope);
    return 'yes';
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return error.code === 'DECRYPTION_ERROR' && unopened === 0 ? 'no' : 'perhaps';
  }
}
