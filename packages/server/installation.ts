import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { wasPrepared } from './platform/database/database-state.ts';
import { StartFailure } from './platform/start-failure.ts';

/**
 * A command beside the service needs an existing installation. Without the service's settings it would make an empty
 * one and report success for that one: for example, that a key is no longer needed, or that a new one signs.
 */
export async function requireInstallation({ DATABASE_URL, HOLDFAST_DATA }: Config): Promise<void> {
  const remedy = 'Give it the settings of the service: --env-file FILE, or the environment.';
  if (!DATABASE_URL) {
    if (await isThere(join(HOLDFAST_DATA, 'postgres'))) return;
    throw new StartFailure(
      `DATABASE_URL is not set, and the data folder ${HOLDFAST_DATA} holds no database: there is no Holdfast here. ${remedy}`,
    );
  }
  if (await wasPrepared(DATABASE_URL)) return;
  const { host, pathname } = new URL(DATABASE_URL);
  throw new StartFailure(`The database ${pathname.slice(1)} at ${host} holds no Holdfast. ${remedy}`);
}

/** Does not follow the link that points to a database elsewhere. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}
