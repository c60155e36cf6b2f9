import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Keyring } from './keyring.ts';

const fileName = 'master.key';

export interface KeyringSource {
  MASTER_KEY?: string | undefined;
  MASTER_KEYS_PREVIOUS: readonly string[];
  HOLDFAST_DATA: string;
}

/** The master key from the configuration, else from a file in the data folder that is made on first start. */
export async function loadKeyring(source: KeyringSource): Promise<Keyring> {
  const previous = source.MASTER_KEYS_PREVIOUS.map((text) => Buffer.from(text, 'base64'));
  const current = source.MASTER_KEY
    ? Buffer.from(source.MASTER_KEY, 'base64')
    : await readOrMakeKey(source.HOLDFAST_DATA);
  return new Keyring(current, previous);
}

async function readOrMakeKey(folder: string): Promise<Buffer> {
  const path = join(folder, fileName);
  const kept = await readKey(path);
  if (kept) return kept;
  await mkdir(folder, { recursive: true });
  await writeOnce(path, randomBytes(32).toString('base64'));
  const key = await readKey(path);
  if (!key) throw new Error(`${path} could not be read back`);
  return key;
}

async function readKey(path: string): Promise<Buffer | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== 32)
    throw new Error(`${path} does not hold 32 bytes in base64; restore it from a copy, sealed secrets depend on it`);
  if (((await stat(path)).mode & 0o077) !== 0) await chmod(path, 0o600);
  return key;
}

/** Whole or not at all, and never over an existing file: a half-written or replaced master key would lose every secret. */
async function writeOnce(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await unlink(temporary);
}
