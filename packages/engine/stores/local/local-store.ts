import type { BigIntStats } from 'node:fs';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath, unlink } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { BlobInfo, PutOptions, VersionedBlobStore } from '../../ports/index.ts';
import { EngineError, throwIfCancelled } from '../../ports/index.ts';
import { hourMs } from '../../time/durations.ts';
import { AttemptError, type AttemptStore, conflict, notFound, objectTooShort, tooLarge } from '../attempt.ts';
import { noVersionsKept } from '../hidden.ts';
import { bytesMaxDefault } from '../keys.ts';
import type { RetryPolicy } from '../retry.ts';
import { withRetries } from '../with-retries.ts';
import {
  assertInside,
  errorCode,
  publish,
  sweepTemporary,
  temporaryFolder,
  withFolder,
  withFolderMade,
  writeTemporary,
} from './durable-file.ts';
import { withFileLock } from './file-lock.ts';
import { walk } from './walk.ts';

export interface LocalStoreOptions {
  /** Made when it does not exist. Nothing outside of it is ever read or written. */
  root: string;
  /** A folder that the root must lie in, links followed, and that is no link itself. */
  within?: string;
  /** The folder existed before. If it is gone now, opening fails and does not make a new one. */
  isExpected?: boolean;
  /** The name of the store in errors, when its path must not be shown. */
  location?: string;
  retry?: Partial<RetryPolicy>;
  now?: () => Date;
}

/**
 * No put goes this long without writing a byte. An older temporary file belongs to nobody, and a full disk needs its
 * room.
 */
const abandonedMs = hourMs;

/** A folder as a store: each key is a file, written beside, flushed, and put in place in one step. */
export async function createLocalStore(options: LocalStoreOptions): Promise<VersionedBlobStore> {
  const { retry, now = () => new Date() } = options;
  const location = options.location ?? `file://${options.root}`;
  if (options.isExpected) await requireFolder(options.root, location);
  const root = await openRoot(options).catch((error: unknown) => {
    throw rootError(location, error);
  });
  await sweepTemporary(root, new Date(now().getTime() - abandonedMs));
  return withRetries(localAttempts(root, location), retry);
}

async function openRoot({ root: folder, within, isExpected }: LocalStoreOptions): Promise<string> {
  const make = async (path: string) => isExpected || (await mkdir(path, { recursive: true }));
  if (within === undefined) {
    await make(folder);
    return realpath(folder);
  }
  await mkdir(within, { recursive: true });
  if (!(await lstat(within)).isDirectory()) throw leadsOut();
  const owner = await realpath(within);
  const path = join(owner, relative(within, folder));
  await assertInside(owner, path).catch((error: unknown) => {
    throw error instanceof EngineError ? leadsOut() : error;
  });
  await make(path);
  const root = await realpath(path);
  if (root !== owner && !root.startsWith(owner + sep)) throw leadsOut();
  return root;
}

/** An unmounted disk looks like this too, and nobody would find what is written there. */
async function requireFolder(folder: string, location: string): Promise<void> {
  const isGone = await lstat(folder).then(
    () => false,
    (error: unknown) => errorCode(error) === 'ENOENT',
  );
  if (isGone)
    throw new EngineError(
      'STORAGE_UNAVAILABLE',
      `The folder ${location} is gone: it was removed, or the disk it lies on is not mounted.`,
    );
}

const rootReasons: Readonly<Record<string, string>> = {
  EACCES: 'the user that runs this may not use it',
  EPERM: 'the user that runs this may not use it',
  EROFS: 'the disk can only be read',
  EEXIST: 'it is a file, not a folder',
  ENOTDIR: 'a part of its path is a file, not a folder',
  ENOSPC: 'there is no room on the disk',
};

/** What is wrong with the folder itself, before any object is asked for. */
function rootError(location: string, error: unknown): unknown {
  const code = errorCode(error);
  if (error instanceof EngineError || code === '') return error;
  const isRefused = ['EACCES', 'EPERM', 'EROFS', 'ELOOP'].includes(code);
  const message = `The folder ${location} cannot be used: ${rootReasons[code] ?? code}.`;
  const isInTheWay = ['EEXIST', 'ENOTDIR', 'ENAMETOOLONG'].includes(code);
  const ownCode = isRefused ? 'STORAGE_PERMISSION_DENIED' : isInTheWay ? 'VALIDATION_ERROR' : 'STORAGE_UNAVAILABLE';
  return new EngineError(ownCode, message, {
    cause: error,
    details: { code },
  });
}

function leadsOut(): EngineError {
  return new EngineError('STORAGE_PERMISSION_DENIED', 'A link leads out of the folder that this store may use.');
}

export function localAttempts(root: string, location = `file://${root}`): AttemptStore {
  const pathOf = (key: string) => {
    if (key.split('/')[0] === temporaryFolder)
      throw new EngineError('VALIDATION_ERROR', `The name ${key} is reserved.`);
    return join(root, key);
  };
  const store: AttemptStore = {
    location,
    put: (key, bytes, options) =>
      translated(location, key, () => putFile({ root, location, key, path: pathOf(key), bytes, options })),
    async get(key, options) {
      return reading(root, location, key, pathOf(key), options?.signal, async (file, info) => {
        const bytesMax = options?.bytesMax ?? bytesMaxDefault;
        if (info.size > bytesMax) throw tooLarge(location, key, info.size, bytesMax);
        return readFully(location, file, key, 0, info.size);
      });
    },
    getRange: (key, offset, length, options) =>
      reading(root, location, key, pathOf(key), options?.signal, async (file, info) => {
        if (offset + length > info.size) throw objectTooShort(location, key, offset, length);
        return readFully(location, file, key, offset, length);
      }),
    async head(key, options) {
      throwIfCancelled(options?.signal);
      return translated(location, key, () => infoOf(root, key, pathOf(key)));
    },
    async *list(prefix, options) {
      await translated(location, prefix, () => assertInside(root, join(root, dirname(`${prefix}x`))));
      for await (const key of walk(root, prefix, options?.startAfter ?? '')) {
        throwIfCancelled(options?.signal);
        const info = await translated(location, key, () => infoOf(root, key, pathOf(key)));
        if (info) yield info;
      }
    },
    async delete(keys, options) {
      for (const key of keys) {
        throwIfCancelled(options?.signal);
        await translated(location, key, () => removeFile(root, pathOf(key)));
      }
      return { versionsKept: false };
    },
    async extendLock() {
      throw cannotLock();
    },
    async lockAbility(options) {
      throwIfCancelled(options?.signal);
      return { canLock: false, reason: cannotLock().message };
    },
    async holds(key, bytes, options) {
      const info = await store.head(key);
      if (info?.size !== bytes.length) return undefined;
      const stored = await store.get(key, {
        ...(options?.signal && { signal: options.signal }),
        bytesMax: bytes.length,
      });
      return Buffer.compare(stored, bytes) === 0 ? info : undefined;
    },
    ...noVersionsKept,
    async close() {},
  };
  return store;
}

interface Put {
  readonly root: string;
  readonly location: string;
  readonly key: string;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly options: PutOptions | undefined;
}

async function putFile(put: Put): Promise<BlobInfo> {
  const { root, key, path, bytes, options } = put;
  throwIfCancelled(options?.signal);
  if (options?.lock) throw cannotLock();
  await assertInside(root, dirname(path));
  await withFolderMade(root, join(root, temporaryFolder), (folder) => writeAndPublish(folder, put));
  // Another writer may have replaced the file already; what was written here was whole when it was published.
  const info = await infoOf(root, key, path);
  if (!info) throw new AttemptError('STORAGE_UPLOAD_ERROR', `The file of ${key} disappeared.`, { retry: true });
  if (options?.isLastUse) giveBack(bytes);
  return info;
}

async function writeAndPublish(temporaryPlace: string, put: Put): Promise<void> {
  const { root, location, key, path, bytes, options } = put;
  const temporary = await writeTemporary(temporaryPlace, bytes);
  try {
    throwIfCancelled(options?.signal);
    await withFolderMade(root, dirname(path), async (folder) => {
      const place = join(folder, basename(path));
      const expected = options?.ifMatch;
      if (options?.ifAbsent) await publishNew(location, key, temporary, place);
      else if (expected === undefined) await publish(temporary, place, false);
      else
        await withFileLock(temporaryPlace, key, async () => {
          if ((await infoOf(root, key, path))?.etag !== expected) throw conflict(location, key);
          await publish(temporary, place, false);
        });
    });
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
}

/** Frees the memory only when these bytes fill all of it. */
function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

async function publishNew(location: string, key: string, temporary: string, path: string): Promise<void> {
  try {
    await publish(temporary, path, true);
  } catch (error) {
    throw errorCode(error) === 'EEXIST' ? conflict(location, key, error) : error;
  }
}

async function infoOf(root: string, key: string, path: string): Promise<BlobInfo | undefined> {
  try {
    const stats = await withFolder(root, dirname(path), (folder) =>
      lstat(join(folder, basename(path)), { bigint: true }),
    );
    return stats.isFile() ? describe(key, stats) : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return undefined;
    throw error;
  }
}

/** Every put makes a new file, so its number and time change whenever the bytes may have. */
function describe(key: string, stats: BigIntStats): BlobInfo {
  const etag = `${stats.ino.toString(36)}-${stats.mtimeNs.toString(36)}-${stats.size.toString(36)}`;
  return { key, size: Number(stats.size), etag, modifiedAt: stats.mtime };
}

/** Opening a pipe would wait for ever and block a thread that all file operations of the process share. */
const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function reading<Result>(
  root: string,
  location: string,
  key: string,
  path: string,
  signal: AbortSignal | undefined,
  use: (file: FileHandle, info: BlobInfo) => Promise<Result>,
): Promise<Result> {
  throwIfCancelled(signal);
  return translated(location, key, async () => {
    const file = await withFolder(root, dirname(path), (folder) => open(join(folder, basename(path)), readOnly));
    try {
      const stats = await file.stat({ bigint: true });
      if (!stats.isFile()) throw notFound(location, key);
      return await use(file, describe(key, stats));
    } finally {
      await file.close();
    }
  });
}

async function readFully(
  location: string,
  file: FileHandle,
  key: string,
  offset: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await file.read(bytes, at, length - at, offset + at);
    if (bytesRead === 0) throw objectTooShort(location, key, offset, length);
    at += bytesRead;
  }
  return bytes;
}

async function removeFile(root: string, path: string): Promise<void> {
  try {
    await withFolder(root, dirname(path), (folder) => unlink(join(folder, basename(path))));
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error))) throw error;
  }
}

/** Says in the port's words what the file system said in its own. */
async function translated<Result>(location: string, key: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    const code = errorCode(error);
    if (error instanceof EngineError || code === '') throw error;
    const options = { cause: error, details: { key, code } };
    if (code === 'ENOENT') throw notFound(location, key, error);
    if (['EACCES', 'EPERM', 'EROFS', 'ELOOP'].includes(code))
      throw new AttemptError('STORAGE_PERMISSION_DENIED', `No permission for ${key} in ${location}.`, options);
    if (['EEXIST', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'ENOTEMPTY'].includes(code))
      throw new AttemptError('VALIDATION_ERROR', `The key ${key} cannot be a file in ${location}.`, options);
    if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code))
      throw new AttemptError('STORAGE_UPLOAD_ERROR', `There is no room for ${key} in ${location}.`, options);
    throw new AttemptError('STORAGE_UNAVAILABLE', `${location} failed for ${key}: ${code}.`, {
      ...options,
      retry: true,
    });
  }
}

function cannotLock(): EngineError {
  return new EngineError('VALIDATION_ERROR', 'A local folder cannot lock objects; choose a bucket with object lock.');
}
