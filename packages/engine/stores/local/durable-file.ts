import { randomUUID } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { link, lstat, mkdir, open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { EngineError } from '../../ports/index.ts';

/** Temporary files: never listed, and removed when they are old. */
export const temporaryFolder = '.holdfast-tmp';

export function errorCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/** A rename or a new name survives a power cut only when its folder was flushed too. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } catch (error) {
    // Some network file systems cannot flush folders; they make names durable by themselves.
    if (!['EINVAL', 'ENOTSUP', 'EPERM', 'EISDIR'].includes(errorCode(error))) throw error;
  } finally {
    await folder.close();
  }
}

/**
 * Makes the folder and its parents below the root, and flushes each parent that gained an entry. Never makes the root
 * itself: a root that vanished under an open store is an unmounted disk, and nobody would find what is written there.
 */
async function makeFolders(root: string, folder: string): Promise<void> {
  if (folder === root) return;
  await withFolderMade(root, dirname(folder), async (parent) => {
    const path = join(parent, basename(folder));
    try {
      await mkdir(path);
    } catch (error) {
      if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return;
      throw error;
    }
    await flushFolder(parent);
  });
}

function folderGone(root: string, cause: unknown): EngineError {
  return new EngineError(
    'STORAGE_UNAVAILABLE',
    `The folder ${basename(root)} is gone: it was removed, or the disk it lies on is not mounted.`,
    { cause },
  );
}

/** Throws when the nearest existing folder of the path lies, behind symbolic links, outside of the root. */
export async function assertInside(root: string, path: string): Promise<void> {
  for (let at = path; ; at = dirname(at)) {
    try {
      const actual = await realpath(at);
      if (actual !== root && !actual.startsWith(root + sep))
        throw new EngineError('VALIDATION_ERROR', 'The path leaves the folder of the store.');
      return;
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
      if (at === root) throw folderGone(root, error);
    }
  }
}

/**
 * Runs the work with a path to the folder that nobody can redirect. Somebody may replace the folder by a link between
 * the check and the use; but then only the name changes, and the open folder keeps the path used here.
 */
export async function withFolder<Result>(
  root: string,
  folder: string,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  await assertInside(root, folder);
  const held = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    // On other systems an open folder has no path of its own; there the check alone has to do.
    const name = hasNamesOfOpenFiles ? `/proc/self/fd/${held.fd}` : folder;
    if (hasNamesOfOpenFiles) await assertInside(root, name);
    return await use(name);
  } finally {
    await held.close();
  }
}

const hasNamesOfOpenFiles = process.platform === 'linux' && existsSync('/proc/self/fd');

/** Removes the temporary files of processes that died. Removes nothing when their folder leads out of the store. */
export async function sweepTemporary(root: string, olderThan: Date): Promise<void> {
  const sweep = async (folder: string) => {
    for (const name of await readdir(folder)) {
      const stats = await lstat(join(folder, name)).catch(() => undefined);
      if (stats && stats.mtime < olderThan) await unlink(join(folder, name)).catch(() => {});
    }
  };
  await withFolder(root, join(root, temporaryFolder), sweep).catch(() => {});
}

/** The same, and makes the folder if it is missing. */
export async function withFolderMade<Result>(
  root: string,
  folder: string,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  try {
    return await withFolder(root, folder, use);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || folder === root) throw error;
    await makeFolders(root, folder);
    return await withFolder(root, folder, use);
  }
}

/** Writes the bytes to a file of its own in the folder, flushed, and gives its path. */
export async function writeTemporary(folder: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, randomUUID());
  const file = await open(path, 'wx', 0o600);
  try {
    try {
      for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
      await file.sync();
    } finally {
      // A network file system may find out only now that there is no room.
      await file.close();
    }
  } catch (error) {
    await unlink(path).catch(() => {});
    throw error;
  }
  return path;
}

/** Gives the file its final name in one step. With `ifAbsent` an existing name is left alone and EEXIST thrown. */
export async function publish(temporary: string, path: string, ifAbsent: boolean): Promise<void> {
  if (ifAbsent) {
    await link(temporary, path);
    await unlink(temporary);
  } else await rename(temporary, path);
  await flushFolder(dirname(path));
}
