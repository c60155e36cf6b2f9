import { randomUUID } from 'node:crypto';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from './config.ts';
import { StartFailure } from './platform/start-failure.ts';
import { folderSentence } from './start-failure.ts';

/** Whether anything of this configuration lies on the disk. */
function needsDataFolder(config: Config): boolean {
  return !config.DATABASE_URL || !config.MASTER_KEY || config.ALLOW_LOCAL_STORAGE;
}

/** Node's own recursive way never ends where a folder that is there denies that anything can be below it. */
async function makeFolder(folder: string): Promise<void> {
  const above = dirname(folder);
  try {
    await makeOne(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === folder) throw error;
    await makeFolder(above);
    await makeOne(folder);
  }
}

/** Whoever else makes it at the same moment has made it as well. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(folder)).isDirectory();
    if (!isThere) throw error;
  }
}

/** Noticed at the start rather than by the first backup. */
export async function requireDataFolder(config: Config): Promise<void> {
  if (!needsDataFolder(config)) return;
  const folder = config.HOLDFAST_DATA;
  const probe = join(folder, `.probe-${randomUUID()}`);
  try {
    await makeFolder(folder);
    await writeFile(probe, 'written to see whether it can be', { flush: true });
  } catch (error) {
    throw new StartFailure(folderSentence(folder, (error as NodeJS.ErrnoException).code));
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}
