import { readFile } from 'node:fs/promises';
import { readInput } from '../ask.ts';
import { wrongUsage } from '../command-failure.ts';

/** The content of a file with a secret; `-` is the input. */
export async function readKeyFile(path: string): Promise<string> {
  if (path === '-') return await readInput();
  return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw wrongUsage(`The file ${path} cannot be read (${error.code}).`);
  });
}
