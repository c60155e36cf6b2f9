import { readFile } from 'node:fs/promises';
import { EngineError, KeyRing, type Secret } from '@holdfast/engine';
import { askSecretly } from '../ask.ts';

export interface SecretOptions {
  readonly keyFile?: string;
  readonly passphraseFile?: string;
}

/** From a key file, a passphrase file, the environment, or a question at the terminal; in this order. */
export async function keyRingOf(options: SecretOptions): Promise<KeyRing> {
  return new KeyRing([await secretOf(options)]);
}

async function secretOf({ keyFile, passphraseFile }: SecretOptions): Promise<Secret> {
  if (keyFile !== undefined) return { key: parseKey(await readSecretFile(keyFile)) };
  if (passphraseFile !== undefined)
    return { passphrase: (await readSecretFile(passphraseFile)).toString('utf8').replace(/\r?\n$/, '') };
  const { HOLDFAST_KEY, HOLDFAST_PASSPHRASE } = process.env;
  if (HOLDFAST_KEY) return { key: parseKey(Buffer.from(HOLDFAST_KEY)) };
  if (HOLDFAST_PASSPHRASE) return { passphrase: HOLDFAST_PASSPHRASE };
  if (process.stdin.isTTY) return { passphrase: await askSecretly('Passphrase: ') };
  throw new EngineError(
    'VALIDATION_ERROR',
    'Give --key-file or --passphrase-file, or set HOLDFAST_KEY or HOLDFAST_PASSPHRASE.',
  );
}

async function readSecretFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new EngineError('VALIDATION_ERROR', `The file ${path} cannot be read.`, { cause });
  }
}

/** 32 raw bytes, or their base64 or hexadecimal text. */
export function parseKey(content: Buffer): Uint8Array {
  if (content.length === 32) return new Uint8Array(content);
  const text = content.toString('utf8').trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return new Uint8Array(Buffer.from(text, 'hex'));
  const decoded = Buffer.from(text, 'base64');
  if (decoded.length === 32) return new Uint8Array(decoded);
  throw new EngineError('VALIDATION_ERROR', 'A key is 32 bytes: raw, or as base64 or hexadecimal text.');
}
