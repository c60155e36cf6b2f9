import { readFile } from 'node:fs/promises';
import {
  type BlobStore,
  copyKeyOf,
  EngineError,
  type KeptKey,
  KeyRing,
  readKeyCopies,
  type Secret,
  secretsOf,
} from '@holdfast/engine';
import { askSecretly, askTwice } from '../ask.ts';

export interface SecretOptions {
  readonly keyFile?: string;
  readonly passphraseFile?: string;
  readonly kitFile?: string;
  readonly masterKeyFile?: string;
}

interface Asking {
  readonly question?: string;
  /** It cannot be checked yet, so it is typed twice. */
  readonly isNew?: boolean;
}

/**
 * From a key file, a passphrase file, a recovery kit, a master key, the environment, or a question at the terminal; in
 * this order. A master key opens the keys that are stored beside the backups.
 */
export async function keyRingOf(options: SecretOptions, store: BlobStore, asking: Asking = {}): Promise<KeyRing> {
  return new KeyRing(await secretsFrom(options, store, asking));
}

export async function secretsFrom(options: SecretOptions, store: BlobStore, asking: Asking): Promise<Secret[]> {
  const { keyFile, passphraseFile, kitFile, masterKeyFile } = options;
  if (keyFile !== undefined) return [{ key: parseKey(await readSecretFile(keyFile)) }];
  if (passphraseFile !== undefined)
    return [{ passphrase: (await readSecretFile(passphraseFile)).toString('utf8').replace(/\r?\n$/, '') }];
  if (kitFile !== undefined) return secretsOf(parseKit((await readSecretFile(kitFile)).toString('utf8')));
  if (masterKeyFile !== undefined) return secretsBeside(store, parseKey(await readSecretFile(masterKeyFile)));
  const { HOLDFAST_KEY, HOLDFAST_PASSPHRASE, MASTER_KEY } = process.env;
  if (HOLDFAST_KEY) return [{ key: parseKey(Buffer.from(HOLDFAST_KEY)) }];
  if (HOLDFAST_PASSPHRASE) return [{ passphrase: HOLDFAST_PASSPHRASE }];
  if (MASTER_KEY) return secretsBeside(store, parseKey(Buffer.from(MASTER_KEY)));
  if (process.stdin.isTTY) return [{ passphrase: await askPassphrase(asking) }];
  throw new EngineError(
    'VALIDATION_ERROR',
    'Give --key-file, --passphrase-file, --kit-file or --master-key-file, or set HOLDFAST_KEY, HOLDFAST_PASSPHRASE or MASTER_KEY.',
  );
}

async function askPassphrase({ question = 'Passphrase: ', isNew = false }: Asking): Promise<string> {
  return isNew ? await askTwice(question) : await askSecretly(question);
}

async function secretsBeside(store: BlobStore, masterKey: Uint8Array): Promise<Secret[]> {
  const { copies, unopened } = await readKeyCopies(store, [copyKeyOf(masterKey)]);
  if (copies.length > 0) return copies.flatMap(({ keys }) => secretsOf(keys));
  if (unopened === 0 && (await isEmpty(store)))
    throw new EngineError('STORAGE_NOT_FOUND', `Nothing lies in ${store.location}. Is it the right place?`);
  throw new EngineError(
    'DECRYPTION_ERROR',
    unopened > 0
      ? `The keys in ${store.location} are sealed under another master key.`
      : `No keys lie in ${store.location}; it takes the key itself, a passphrase or a recovery kit.`,
  );
}

async function isEmpty(store: BlobStore): Promise<boolean> {
  for await (const _ of store.list('')) return false;
  return true;
}

/** The lines of a recovery kit that hold keys. */
function parseKit(text: string): KeptKey[] {
  const keys: KeptKey[] = [];
  // The text after it contains names that people chose, which may look like a key.
  const [written = ''] = text.split(/^Storage destinations /m);
  for (const line of written.split(/\r?\n/)) {
    const [word, keyId = '', kind = '', key = '', salt, iterations] = line.trim().split(' ');
    if (word === 'key' && (kind === 'service' || kind === 'passphrase' || kind === 'key')) {
      const derivation = salt && iterations ? { salt, iterations: Number(iterations) } : null;
      keys.push({ keyId, kind, key, derivation, passphrase: null, createdAt: '' });
    } else if (word === 'passphrase' && kind === '' && keys.length > 0) {
      const last = keys.pop() as KeptKey;
      keys.push({ ...last, passphrase: Buffer.from(keyId, 'base64').toString('utf8') });
    }
  }
  if (keys.length > 0) return keys;
  throw new EngineError('VALIDATION_ERROR', 'The file is no recovery kit: it holds no keys.');
}

async function readSecretFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new EngineError('VALIDATION_ERROR', `The file ${path} cannot be read.`, { cause });
  }
}

/** 32 raw bytes, or their base64 or hexadecimal text. */
function parseKey(content: Buffer): Uint8Array {
  if (content.length === 32) return new Uint8Array(content);
  const text = content.toString('utf8').trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return new Uint8Array(Buffer.from(text, 'hex'));
  const decoded = Buffer.from(text, 'base64');
  if (decoded.length === 32) return new Uint8Array(decoded);
  throw new EngineError('VALIDATION_ERROR', 'A key is 32 bytes: raw, or as base64 or hexadecimal text.');
}
