import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

const version = 'hf1';
const ivBytes = 12;
const tagBytes = 16;

/** Another or an earlier process seals under a key that this one was not given. */
export class MissingMasterKey extends Error {
  constructor(id: string) {
    super(
      `What is needed was sealed under a master key that this process does not have (${id}): MASTER_KEYS_PREVIOUS.`,
    );
  }
}

/**
 * Seals small secrets for storage in the database: AES-256-GCM under the current master key. An envelope is `hf1.<key
 * id>.<base64url of iv, ciphertext, tag>`; the key id says which master key opens it. The purpose is bound as
 * additional data, so an envelope that is moved to another row or column does not open.
 */
export class MasterKeyring {
  /** Key objects, because plain bytes are checked slowly at each use. */
  readonly #keys = new Map<string, KeyObject>();
  readonly #currentId: string;
  readonly #currentKey: KeyObject;

  constructor(current: Buffer, previous: readonly Buffer[] = []) {
    for (const key of [current, ...previous]) {
      if (key.length !== 32) throw new Error('a master key has 32 bytes');
      this.#keys.set(keyId(key), createSecretKey(key));
    }
    this.#currentId = keyId(current);
    this.#currentKey = createSecretKey(current);
  }

  seal(plaintext: string | Uint8Array, purpose: string): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#currentKey, iv);
    cipher.setAAD(additionalData(this.#currentId, purpose));
    const bytes = Buffer.concat([iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    return `${version}.${this.#currentId}.${bytes.toString('base64url')}`;
  }

  open(envelope: string, purpose: string): Buffer {
    const { id, bytes } = parse(envelope);
    const key = this.#keys.get(id);
    if (!key) throw new MissingMasterKey(id);
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes));
    decipher.setAAD(additionalData(id, purpose));
    decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes, bytes.length - tagBytes)), decipher.final()]);
  }

  openText(envelope: string, purpose: string): string {
    return this.open(envelope, purpose).toString('utf8');
  }

  /** Whether the envelope was sealed under an earlier master key and has to be sealed again. */
  isStale(envelope: string): boolean {
    return parse(envelope).id !== this.#currentId;
  }

  /** A pattern for SQL's `like` that matches every envelope under the current key. */
  get currentEnvelopes(): string {
    return `${version}.${this.#currentId}.%`;
  }

  reseal(envelope: string, purpose: string): string {
    return this.isStale(envelope) ? this.seal(this.open(envelope, purpose), purpose) : envelope;
  }

  /** A 32-byte key for one use, the same on every process that has the master key. */
  derive(use: string): Buffer {
    return derived(this.#currentKey, use);
  }

  /** The same from every available master key, the current one first. */
  deriveAll(use: string): Buffer[] {
    return [...this.#keys.values()].map((key) => derived(key, use));
  }
}

function derived(key: KeyObject, use: string): Buffer {
  return createHmac('sha256', key).update(`holdfast derive ${use}`).digest();
}

function keyId(key: Buffer): string {
  return createHash('sha256').update('holdfast master key id').update(key).digest('hex').slice(0, 12);
}

function additionalData(id: string, purpose: string): Buffer {
  return Buffer.from(`${version}.${id}.${purpose}`, 'utf8');
}

function parse(envelope: string): { id: string; bytes: Buffer } {
  const [head, id, body] = envelope.split('.');
  if (head !== version || !id || !body) throw new Error('not a sealed envelope');
  const bytes = Buffer.from(body, 'base64url');
  if (bytes.length < ivBytes + tagBytes) throw new Error('a sealed envelope is too short');
  return { id, bytes };
}
