import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartFailure } from '../start-failure.ts';
import { MasterKeyring } from './master-keyring.ts';

const fileName = 'master.key';
/** The key before the last rotation, kept until everything is sealed under the new one. */
const previousFileName = 'master.key.previous';

export interface KeyringSource {
  MASTER_KEY?: string | undefined;
  MASTER_KEYS_PREVIOUS: readonly string[];
  HOLDFAST_DATA: string;
}

/** The master key from the configuration, or else from a file in the data folder that is made at the first start. */
export async function loadKeyring(source: KeyringSource): Promise<MasterKeyring> {
  const previous = source.MASTER_KEYS_PREVIOUS.map((text) => Buffer.from(text, 'base64'));
  if (source.MASTER_KEY) return new MasterKeyring(Buffer.from(source.MASTER_KEY, 'base64'), previous);
  const current = await readOrMakeKey(source.HOLDFAST_DATA);
  const before = await readKey(join(source.HOLDFAST_DATA, previousFileName));
  return new MasterKeyring(current, before ? [before, ...previous] : previous);
}

export function hasKeyFile(folder: string): Promise<boolean> {
  return stat(join(folder, fileName)).then(
    () => true,
    () => false,
  );
}

/**
 * Writes a new key to the file, beside the previous one. Both are on the disk at every moment, so a crash or a power
 * cut loses nothing. An unfinished rotation is continued instead of started again.
 */
export async function renewKeyFile(folder: string): Promise<void> {
  const [path, previousPath] = [join(folder, fileName), join(folder, previousFileName)];
  const current = await readOrMakeKey(folder);
  const before = await readKey(previousPath);
  if (before && !before.equals(current)) return;
  if (!before) await writeOnce(previousPath, current.toString('base64'));
  const renewed = `${path}.new`;
  await unlink(renewed).catch(ignoreMissing);
  await writeOnce(renewed, randomBytes(32).toString('base64'));
  await rename(renewed, path);
  await flushFolder(folder);
}

/** Call only when nothing is sealed under it any more. */
export async function forgetPreviousKeyFile(folder: string): Promise<void> {
  await unlink(join(folder, previousFileName)).catch(ignoreMissing);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
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
    throw new StartFailure(
      `${path} does not hold 32 bytes in base64; restore it from a copy, sealed secrets depend on it.`,
    );
  if (((await stat(path)).mode & 0o077) !== 0) await chmod(path, 0o600);
  return key;
}

/**
 * Writes the whole file durably or not at all, and never over an existing one: a half-written, replaced or vanished
 * master key would lose every secret.
 */
async function writeOnce(path: string, text: string): Promise<void> {
  // In containers that share a volume every process may have the same pid, so the draft gets a random name.
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
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
  await flushFolder(dirname(path));
}

/** A file name survives a power cut only after its folder was flushed too. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path);
  await folder
    .sync()
    .catch(ignoreUnflushable)
    .finally(() => folder.close());
}

/** Some network file systems make names durable by themselves. */
function ignoreUnflushable(error: NodeJS.ErrnoException): void {
  if (!['EINVAL', 'ENOTSUP', 'EPERM', 'EISDIR'].includes(error.code ?? '')) throw error;
}
