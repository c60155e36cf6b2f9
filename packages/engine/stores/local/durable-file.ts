import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { EngineError } from '../../ports/index.ts';

/** Files under construction; never listed, and swept when they are old. */
export const temporaryFolder = '.holdfast-tmp';

export function errorCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

/** A rename or a new name survives a power cut only when its folder was flushed too. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } catch (error) {
    // Some network file systems cannot flush folders; they make names durable by themselves.
    if (!['EINVAL', 'ENOTSUP', 'EPERM', 'EISDIR'].includes(errorCode(error))) throw error;
  } finally {
    await folder.close();
  }
}

/** Makes the folder and its parents below the root, flushing each parent that gained an entry. */
export async function makeFolders(root: string, folder: string): Promise<void> {
  if (folder === root) return;
  const made = await mkdir(folder, { recursive: true });
  if (made === undefined) return;
  for (let at = folder; at.length >= made.length; at = dirname(at)) await flushFolder(dirname(at));
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
      if (errorCode(error) !== 'ENOENT' || at === root) throw error;
    }
  }
}

/** Removes what processes that died left under construction. */
export async function sweepTemporary(root: string, olderThan: Date): Promise<void> {
  const folder = join(root, temporaryFolder);
  for (const name of await readdir(folder).catch(() => [])) {
    const stats = await stat(join(folder, name)).catch(() => undefined);
    if (stats && stats.mtime < olderThan) await unlink(join(folder, name)).catch(() => {});
  }
}

/** Writes the bytes to a file of its own, flushed, and gives its path. */
export async function writeTemporary(root: string, bytes: Uint8Array): Promise<string> {
  const path = join(root, temporaryFolder, randomUUID());
  const file = await openNew(path);
  try {
    for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
    await file.sync();
  } catch (error) {
    await file.close();
    await unlink(path).catch(() => {});
    throw error;
  }
  await file.close();
  return path;
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await mkdir(dirname(path), { recursive: true });
    return await open(path, 'wx', 0o600);
  }
}

/** Gives the file its final name in one step. With `ifAbsent` an existing name is left alone and EEXIST thrown. */
export async function publish(temporary: string, path: string, ifAbsent: boolean): Promise<void> {
  if (ifAbsent) {
    await link(temporary, path);
    await unlink(temporary);
  } else await rename(temporary, path);
  await flushFolder(dirname(path));
}
