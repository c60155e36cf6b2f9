import { cp, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartFailure } from '../start-failure.ts';

/** An operating-system user without privileges, because PostgreSQL refuses to run as root. */
export interface UnprivilegedUser {
  uid: number;
  gid: number;
}

/** For files that the unprivileged user must reach when the data folder or the checkout is closed to it. */
const sharedFolder = '/var/lib/holdfast';

/** The user of the server process; undefined when this process is not root and needs none. */
export async function unprivilegedUser(): Promise<UnprivilegedUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const entries = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const entry = ['postgres', 'nobody']
    .map((name) => entries.find((fields) => fields[0] === name))
    .find((fields) => fields);
  if (!entry)
    throw new StartFailure(
      'PostgreSQL does not run as root, and this system has neither a user "postgres" nor "nobody" to run it as. Start as another user, or set DATABASE_URL.',
    );
  return { uid: Number(entry[2]), gid: Number(entry[3]) };
}

/** Whether the user may walk to `path`: every folder above it grants search permission. */
async function isReachable(path: string, user: UnprivilegedUser): Promise<boolean> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const found = await stat(folder).catch(() => undefined);
    if (found && !grantsSearch(found, user)) return false;
    if (folder === dirname(folder)) return true;
  }
}

function grantsSearch(found: { mode: number; uid: number; gid: number }, user: UnprivilegedUser): boolean {
  if (found.uid === user.uid) return (found.mode & 0o100) !== 0;
  if (found.gid === user.gid) return (found.mode & 0o010) !== 0;
  return (found.mode & 0o001) !== 0;
}

/** `wanted` if the user can reach it, or else a folder for the same purpose under /var/lib/holdfast. */
export async function reachableFolder(
  wanted: string,
  purpose: string,
  user: UnprivilegedUser | undefined,
): Promise<string> {
  if (!user || (await isReachable(wanted, user))) return wanted;
  await mkdir(sharedFolder, { recursive: true, mode: 0o755 });
  return join(sharedFolder, purpose);
}

/**
 * A copy of the server's programs that the user can execute, when the originals are below a closed folder such as
 * /root.
 */
export async function reachablePrograms(
  native: string,
  purpose: string,
  user: UnprivilegedUser | undefined,
): Promise<string> {
  const folder = await reachableFolder(native, purpose, user);
  if (folder === native || (await stat(join(folder, 'complete')).catch(() => undefined))) return folder;
  await cp(native, folder, { recursive: true, verbatimSymlinks: true, force: true });
  await mkdir(join(folder, 'complete'), { recursive: true });
  return folder;
}
