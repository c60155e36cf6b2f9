import { copyFile, link, mkdir, readdir, realpath } from 'node:fs/promises';
import { isAbsolute, join, normalize, relative, resolve } from 'node:path';
import { EngineError } from '@holdfast/engine';
import { invalid } from '../../../platform/problem.ts';

/**
 * Names of the service's own files. In an organization's folder they would do no harm, but nobody uses them on purpose.
 */
const isReserved = (name: string) => /^(postgres|master\.key)/i.test(name);

/** An organization's local folders are all inside this one, and nothing else is. */
export function ownFolder(dataFolder: string, organizationId: string): string {
  return join(dataFolder, 'storage', organizationId);
}

/**
 * The folder that a path names, inside the organization's own folder. The path may also start at the data folder. Links
 * that lead out of it are detected when it is opened.
 */
export function localFolder(dataFolder: string, organizationId: string, path: string): string {
  const own = ownFolder(dataFolder, organizationId);
  const spelledOut = resolve(dataFolder, path);
  const folder = isInside(own, spelledOut) ? spelledOut : resolve(own, path);
  if (normalize(path) === '.' || !isInside(own, folder))
    throw invalid('path', "must be a folder below the organization's own, named from there, such as disk");
  if (isReserved(normalize(path).split(/[\\/]/)[0] ?? '')) throw invalid('path', "is one of the service's own names");
  return folder;
}

function isInside(own: string, folder: string): boolean {
  const inside = relative(own, folder);
  return !isAbsolute(inside) && inside.split(/[\\/]/)[0] !== '..';
}

/**
 * Hard-links every file of a folder into another one. Stored files are replaced and never changed, so both stay whole.
 * The given path must have no links: where one has appeared, nothing behind it is touched.
 */
export async function linkFiles(from: string, to: string): Promise<void> {
  if ((await realpathIfThere(from)) !== from)
    throw new EngineError('STORAGE_PERMISSION_DENIED', 'A link leads out of the folder that this store may use.');
  const entries = await readdir(from, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (entries.length > 0) await mkdir(to, { recursive: true });
  for (const entry of entries) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkFiles(source, target);
    else if (entry.isFile()) await link(source, target).catch((error: unknown) => copyInstead(error, source, target));
  }
}

async function realpathIfThere(path: string): Promise<string> {
  return realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return path;
    throw error;
  });
}

async function copyInstead(error: unknown, source: string, target: string): Promise<void> {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return;
  if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'ENOTSUP') throw error;
  await copyFile(source, target);
}
