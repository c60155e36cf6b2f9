import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { EngineError } from '../ports/errors.ts';
import { deriveKey, ivBytes, keyBytes, tagBytes } from './derive.ts';
import type { Secret } from './key-ring.ts';

/** One key of an organization, as it is stored beside its backups, sealed under the service's master key. */
export interface KeptKey {
  readonly keyId: string;
  readonly kind: 'service' | 'passphrase' | 'key';
  /** 32 bytes in base64. */
  readonly key: string;
  /** How it was derived from a passphrase; null when it was not. */
  readonly derivation: { readonly salt: string; readonly iterations: number } | null;
  readonly passphrase: string | null;
  readonly createdAt: string;
}

export interface KeyCopy {
  readonly organizationId: string;
  readonly keys: readonly KeptKey[];
}

const magic = Buffer.from('HFKC\u0001\0\0\0', 'latin1');
const saltBytes = 16;
/** Far more than any organization needs; a larger object is not one of ours. */
export const keyCopyBytesMax = 4 * 1024 * 1024;

/** The key that seals key copies. It is derived, so that the master key itself is never handed out. */
export function copyKeyOf(masterKey: Uint8Array): Uint8Array {
  if (masterKey.length !== keyBytes)
    throw new EngineError('VALIDATION_ERROR', `A master key has ${keyBytes} bytes, this one has ${masterKey.length}.`);
  return new Uint8Array(createHmac('sha256', masterKey).update('holdfast derive key copies').digest());
}

/**
 * The same keys under the same master key give the same name, so that nobody has to open a copy to see whether it is
 * current.
 */
export function keyCopyName(copyKey: Uint8Array, copy: KeyCopy): string {
  const facts = copy.keys.map(({ keyId, key, passphrase }) => [keyId, key, passphrase !== null]);
  const text = JSON.stringify([copy.organizationId, ...facts.toSorted()]);
  return createHmac('sha256', copyKey).update(text).digest('hex').slice(0, 32);
}

export function sealKeyCopy(copyKey: Uint8Array, copy: KeyCopy): Uint8Array {
  const salt = randomBytes(saltBytes);
  const cipher = createCipheriv('aes-256-gcm', objectKey(copyKey, salt, copy.organizationId), iv());
  cipher.setAAD(magic);
  const sealed = Buffer.concat([cipher.update(JSON.stringify(copy), 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return new Uint8Array(Buffer.concat([magic, salt, sealed]));
}

/** Undefined when none of the keys opens it. */
export function openKeyCopy(
  copyKeys: readonly Uint8Array[],
  organizationId: string,
  bytes: Uint8Array,
): KeyCopy | undefined {
  const start = magic.length + saltBytes;
  if (bytes.length < start + tagBytes || Buffer.compare(bytes.subarray(0, magic.length), magic) !== 0) return undefined;
  const salt = bytes.subarray(magic.length, start);
  for (const copyKey of copyKeys) {
    const decipher = createDecipheriv('aes-256-gcm', objectKey(copyKey, salt, organizationId), iv());
    decipher.setAAD(magic);
    decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes));
    const plain = decipher.update(bytes.subarray(start, bytes.length - tagBytes));
    try {
      decipher.final();
    } catch {
      continue;
    }
    return JSON.parse(plain.toString('utf8')) as KeyCopy;
  }
  return undefined;
}

/** The secrets of these keys, passphrases last: each of their salts costs a derivation. */
export function secretsOf(keys: readonly KeptKey[]): Secret[] {
  const derived = keys.map(({ key, derivation }): Secret => {
    const bytes = new Uint8Array(Buffer.from(key, 'base64'));
    return derivation ? { derived: bytes, salt: derivation.salt, iterations: derivation.iterations } : { key: bytes };
  });
  const passphrases = keys.flatMap(({ passphrase }): Secret[] => (passphrase === null ? [] : [{ passphrase }]));
  return [...derived, ...passphrases];
}

function objectKey(copyKey: Uint8Array, salt: Uint8Array, organizationId: string): Uint8Array {
  return deriveKey(copyKey, salt, `holdfast/1 keys ${organizationId}`);
}

/** Every copy has a key of its own, so one fixed IV is used once. */
function iv(): Uint8Array {
  return new Uint8Array(ivBytes);
}
