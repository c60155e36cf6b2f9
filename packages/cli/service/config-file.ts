import { mkdir, readFile, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { wrongUsage } from '../command-failure.ts';
import { writeWholeFile } from '../whole-file.ts';

/** What `login` stores. The file contains secrets, so only its owner may read it. */
export interface StoredSignIn {
  readonly url: string;
  /** An API key or an access token. */
  readonly token: string;
  readonly organizationId?: string;
  /** Only for a person's sign-in that can be renewed. */
  readonly refreshToken?: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs?: number;
}

export function configPath(): string {
  const { HOLDFAST_CONFIG, XDG_CONFIG_HOME } = process.env;
  if (HOLDFAST_CONFIG) return HOLDFAST_CONFIG;
  return join(XDG_CONFIG_HOME || join(homedir(), '.config'), 'holdfast', 'config.json');
}

export async function readSignIn(path = configPath()): Promise<StoredSignIn | undefined> {
  const content = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw wrongUsage(`The file ${path} cannot be read (${error.code}).`);
  });
  return content === undefined ? undefined : parse(content, path);
}

function parse(content: string, path: string): StoredSignIn {
  try {
    const value = JSON.parse(content) as Partial<StoredSignIn> | null;
    if (typeof value?.url === 'string' && typeof value.token === 'string') return value as StoredSignIn;
  } catch {
    // Reported below, like any other invalid content.
  }
  throw wrongUsage(`The file ${path} holds no sign-in.`, 'Sign in again with `holdfast login`.');
}

/** Replaces the file as a whole: a reader never sees half a file, and a crash leaves the old one. */
export async function writeSignIn(signIn: StoredSignIn, path = configPath()): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeWholeFile(path, [`${JSON.stringify(signIn, null, 2)}\n`], { mode: 0o600 });
}

export async function removeSignIn(path = configPath()): Promise<void> {
  await rm(path, { force: true });
}
