import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { assertInside, errorCode, temporaryFolder, withFolder } from './durable-file.ts';

/** Keys below the root that start with the prefix, ascending by bytes, behind `after`; one folder in memory at a time. */
export async function* walk(root: string, prefix: string, after: string): AsyncGenerator<string> {
  const slash = prefix.lastIndexOf('/');
  yield* walkFolder(root, slash === -1 ? '' : prefix.slice(0, slash + 1), prefix, after);
}

async function* walkFolder(root: string, folder: string, prefix: string, after: string): AsyncGenerator<string> {
  for (const name of await namesIn(root, folder)) {
    const key = folder + name;
    const isFolder = name.endsWith('/');
    if (isFolder) {
      const mayMatch = key.startsWith(prefix) || prefix.startsWith(key);
      const isBehind = key > after || after.startsWith(key);
      if (mayMatch && isBehind) yield* walkFolder(root, key, prefix, after);
    } else if (key.startsWith(prefix) && key > after) yield key;
  }
}

/** Folders end in a slash, which also puts them where their keys belong in the order of bytes. */
async function namesIn(root: string, folder: string): Promise<string[]> {
  try {
    const entries = await withFolder(root, join(root, folder), (place) => readdir(place, { withFileTypes: true }));
    return entries
      .filter((entry) => (entry.isFile() || entry.isDirectory()) && !(folder === '' && entry.name === temporaryFolder))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .sort();
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error))) throw error;
    // A folder that nobody has made yet holds nothing; a store without its root is no empty store.
    await assertInside(root, root);
    return [];
  }
}
