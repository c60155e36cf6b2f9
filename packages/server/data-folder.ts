import { randomUUID } from 'node:crypto';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from './config.ts';
import type { Logger } from './platform/log.ts';
import { hasKeyFile } from './platform/secrets/master-key.ts';
import { StartFailure } from './platform/start-failure.ts';
import { folderSentence } from './start-failure.ts';

/** Whether this configuration stores anything on the disk. */
function needsDataFolder(config: Config): boolean {
  return !config.DATABASE_URL || !config.MASTER_KEY || config.ALLOW_LOCAL_STORAGE;
}

/** Node's own recursive way never ends where an existing folder denies that anything can be below it. */
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

/** Another process may make it at the same moment. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(folder)).isDirectory();
    if (!isThere) throw error;
  }
}

const fullCodes: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/**
 * When only local backups would still be written, a full disk makes just those fail, and deleting some needs a running
 * service.
 */
async function canDoWithoutRoom({ DATABASE_URL, MASTER_KEY, HOLDFAST_DATA }: Config): Promise<boolean> {
  return DATABASE_URL !== undefined && (MASTER_KEY !== undefined || (await hasKeyFile(HOLDFAST_DATA)));
}

/** Finds a fault at the start and not only with the first backup. */
export async function requireDataFolder(config: Config, log: Logger): Promise<void> {
  if (!needsDataFolder(config)) return;
  const folder = config.HOLDFAST_DATA;
  const probe = join(folder, `.probe-${randomUUID()}`);
  try {
    await makeFolder(folder);
    await writeFile(probe, 'written to see whether it can be', { flush: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!fullCodes.includes(code) || !(await canDoWithoutRoom(config)))
      throw new StartFailure(folderSentence(folder, code));
    log.error(
      { folder },
      'the disk of the data folder is full: backups into local destinations will fail until there is room',
    );
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}
