import { hkdfSync, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { NamedSemaphore } from '../../../platform/named-semaphore.ts';
import { Problem } from '../../../platform/problem.ts';
import type { Derivation } from './key-store.ts';

const pbkdf2Async = promisify(pbkdf2);
const iterations = 600_000;
/** The parameters are read back from storage. Whoever can change them there must not slow us down or weaken the key. */
const iterationsMin = 100_000;
const iterationsMax = 10_000_000;
const saltPattern = /^[0-9a-f]{32}$/;

/**
 * Parameters for a new passphrase. Uses the organization's salt if it has one, so that one derivation can be compared
 * with all its keys.
 */
export function newDerivation(salt: string = randomBytes(16).toString('hex')): Derivation {
  return { algorithm: 'PBKDF2-HMAC-SHA256', iterations, salt };
}

/**
 * Derivations share their few threads with new database connections, sign-ins and files. So one runs at a time in a
 * process, and one per organization waits for it.
 */
const [ofOrganization, ofProcess] = [new NamedSemaphore(1), new NamedSemaphore(1)];

/**
 * Derives the key as the backup format does, so that a customer can open a backup with the passphrase alone. Runs off
 * the main thread.
 */
export async function deriveKey(organizationId: string, passphrase: string, derivation: Derivation): Promise<Buffer> {
  const { iterations: count, salt, algorithm } = derivation;
  const isSensible = Number.isInteger(count) && count >= iterationsMin && count <= iterationsMax;
  if (algorithm !== 'PBKDF2-HMAC-SHA256' || !isSensible || !saltPattern.test(salt)) {
    throw new Problem('DECRYPTION_ERROR', 'The stored parameters of the passphrase are damaged.');
  }
  const derive = () => pbkdf2Async(passphrase.normalize('NFC'), Buffer.from(salt, 'hex'), count, 32, 'sha256');
  return ofOrganization.run(organizationId, () => ofProcess.run('', derive));
}

/** The first 16 characters are the key id that the backup format shows beside a wrapped data key. */
export function fingerprintOf(key: Uint8Array): string {
  return Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), 'holdfast/1 key id', 32)).toString('hex');
}
