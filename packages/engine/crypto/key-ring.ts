import { createCipheriv, createDecipheriv, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { EngineError } from '../ports/errors.ts';
import { deriveKey, ivBytes, keyBytes, noSalt, tagBytes } from './derive.ts';
import { type Envelope, envelopeAad, parseEnvelope } from './envelope.ts';

const pbkdf2Async = promisify(pbkdf2);

const passphraseIterations = 600_000;
const saltBytes = 16;
const wrapSaltBytes = 32;

/** What a customer has: a passphrase, or 32 bytes, or the key derived from a passphrase that is no longer known. */
export type Secret =
  | { readonly passphrase: string }
  | { readonly key: Uint8Array }
  | { readonly derived: Uint8Array; readonly salt: string; readonly iterations: number };

interface Derivation {
  readonly salt: string;
  readonly iterations: number;
}

/**
 * Wraps and unwraps data keys. The first secret wraps. All of them are tried for unwrapping, so that backups from
 * before a change of keys stay readable. Derived keys are cached: a chain of passphrase backups costs one derivation.
 */
export class KeyRing {
  readonly #secrets: readonly Secret[];
  readonly #masters = new Map<string, Promise<Uint8Array>>();
  /**
   * One salt per key ring, so that all backups of a process share one derivation; `wrapSalt` keeps their wrapping keys
   * apart.
   */
  readonly #derivation: Derivation = { salt: randomBytes(saltBytes).toString('hex'), iterations: passphraseIterations };

  constructor(secrets: readonly Secret[]) {
    for (const secret of secrets) assertUsable(secret);
    this.#secrets = secrets;
  }

  /** A ring that wraps like this one, and also unwraps with these secrets. */
  openingAlso(secrets: readonly Secret[]): KeyRing {
    return new KeyRing([...this.#secrets, ...secrets]);
  }

  async wrap(ownerId: string, dataKey: Uint8Array): Promise<Envelope> {
    const secret = this.#secrets[0];
    if (secret === undefined) throw new EngineError('DECRYPTION_ERROR', 'There is no key to wrap with.');
    const isPassphrase = !('key' in secret);
    const derivation = 'derived' in secret ? { salt: secret.salt, iterations: secret.iterations } : this.#derivation;
    const master = await this.#master(0, derivation);
    const wrapSalt = randomBytes(wrapSaltBytes);
    const iv = randomBytes(ivBytes);
    const unfinished = {
      kind: isPassphrase ? ('passphrase' as const) : ('key' as const),
      keyId: keyIdOf(master),
      ...(isPassphrase ? derivation : {}),
      wrapSalt: wrapSalt.toString('hex'),
      iv: iv.toString('hex'),
      commitment: Buffer.from(commitmentOf(dataKey, ownerId)).toString('hex'),
    };
    const cipher = createCipheriv('aes-256-gcm', wrapKeyOf(master, wrapSalt, ownerId), iv, { authTagLength: tagBytes });
    cipher.setAAD(envelopeAad(ownerId, unfinished));
    const wrapped = Buffer.concat([cipher.update(dataKey), cipher.final(), cipher.getAuthTag()]);
    return { ...unfinished, wrapped: wrapped.toString('hex') };
  }

  /**
   * The data key, after its commitment was checked. DECRYPTION_ERROR when no secret fits. INTEGRITY_ERROR when the
   * named secret is there but does not open the envelope: no other key would help.
   */
  async unwrap(ownerId: string, given: unknown): Promise<Uint8Array> {
    const envelope = parseEnvelope(given);
    let isNamedAtHand = false;
    for (const [index, secret] of this.#secrets.entries()) {
      if (!mayFit(secret, envelope)) continue;
      const master = await this.#master(index, { salt: envelope.salt ?? '', iterations: envelope.iterations ?? 0 });
      const dataKey = openEnvelope(master, ownerId, envelope);
      if (dataKey !== undefined) return dataKey;
      isNamedAtHand ||= keyIdOf(master) === envelope.keyId;
    }
    if (isNamedAtHand) {
      const message = `The wrapped key of ${ownerId} is damaged: ${describe(envelope)} is at hand and does not open it.`;
      throw new EngineError('INTEGRITY_ERROR', message, { details: { ownerId, keyId: envelope.keyId } });
    }
    throw new EngineError(
      'DECRYPTION_ERROR',
      `No key at hand opens ${ownerId}; it was made with ${describe(envelope)}.`,
      {
        details: { ownerId, kind: envelope.kind, keyId: envelope.keyId },
      },
    );
  }

  #master(index: number, derivation: Derivation): Promise<Uint8Array> {
    const secret = this.#secrets[index]!;
    if ('key' in secret) return Promise.resolve(secret.key);
    if ('derived' in secret) return Promise.resolve(secret.derived);
    const cacheKey = `${index} ${derivation.salt} ${derivation.iterations}`;
    const cached = this.#masters.get(cacheKey);
    if (cached !== undefined) return cached;
    const master = pbkdf2Async(
      secret.passphrase.normalize('NFC'),
      Buffer.from(derivation.salt, 'hex'),
      derivation.iterations,
      keyBytes,
      'sha256',
    ).then((bytes) => new Uint8Array(bytes));
    if (this.#masters.size >= mastersCachedMax) this.#masters.clear();
    this.#masters.set(cacheKey, master);
    return master;
  }
}

const mastersCachedMax = 1000;

function mayFit(secret: Secret, envelope: Envelope): boolean {
  if ('derived' in secret) return secret.salt === envelope.salt && secret.iterations === envelope.iterations;
  return 'passphrase' in secret === (envelope.kind === 'passphrase');
}

function assertUsable(secret: Secret): void {
  const bytes = 'key' in secret ? secret.key : 'derived' in secret ? secret.derived : undefined;
  if (bytes !== undefined && bytes.length !== keyBytes) {
    throw new EngineError('VALIDATION_ERROR', `A key has ${keyBytes} bytes, this one has ${bytes.length}.`);
  }
  if ('passphrase' in secret && secret.passphrase.length === 0) {
    throw new EngineError('VALIDATION_ERROR', 'The passphrase is empty.');
  }
}

function openEnvelope(master: Uint8Array, ownerId: string, envelope: Envelope): Uint8Array | undefined {
  const wrapped = Buffer.from(envelope.wrapped, 'hex');
  const wrapKey = wrapKeyOf(master, Buffer.from(envelope.wrapSalt, 'hex'), ownerId);
  const decipher = createDecipheriv('aes-256-gcm', wrapKey, Buffer.from(envelope.iv, 'hex'), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(envelopeAad(ownerId, envelope));
  decipher.setAuthTag(wrapped.subarray(keyBytes));
  const dataKey = decipher.update(wrapped.subarray(0, keyBytes));
  try {
    decipher.final();
  } catch {
    return undefined;
  }
  if (keyIdOf(master) !== envelope.keyId) return undefined;
  if (!timingSafeEqual(commitmentOf(dataKey, ownerId), Buffer.from(envelope.commitment, 'hex'))) return undefined;
  return new Uint8Array(dataKey);
}

function wrapKeyOf(master: Uint8Array, wrapSalt: Uint8Array, ownerId: string): Uint8Array {
  return deriveKey(master, wrapSalt, `holdfast/1 wrap ${ownerId}`);
}

function commitmentOf(dataKey: Uint8Array, ownerId: string): Uint8Array {
  return deriveKey(dataKey, noSalt, `holdfast/1 commitment ${ownerId}`);
}

function keyIdOf(master: Uint8Array): string {
  return Buffer.from(deriveKey(master, noSalt, 'holdfast/1 key id')).toString('hex', 0, 8);
}

function describe(envelope: Envelope): string {
  return envelope.kind === 'passphrase' ? 'a passphrase' : `the key ${envelope.keyId}`;
}

export function newDataKey(): Uint8Array {
  return new Uint8Array(randomBytes(keyBytes));
}
