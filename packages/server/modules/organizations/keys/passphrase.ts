import { hkdfSync, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Places } from '../../../platform/places.ts';
import { Problem } from '../../../platform/problem.ts';
import type { Derivation } from './key-store.ts';

const pbkdf2Async = promisify(pbkdf2);
const iterations = 600_000;
/** Parameters are read back from storage; whoever could change them there must not be able to stall us or to weaken the key. */
const iterationsMin = 100_000;
const iterationsMax = 10_000_000;
const saltPattern = /^[0-9a-f]{32}$/;

/** For a passphrase that was never seen here: the organization's salt if it has one, so that one derivation recognises them all. */
export function newDerivation(salt: string = randomBytes(16).toString('hex')): Derivation {
  return { algorithm: 'PBKDF2-HMAC-SHA256', iterations, salt };
}

/**
 * Derivations run on the few threads on which connections to the database, sign-ins and files are opened as well: one at a
 * time in a process, and of each organization one stands in line for it.
 */
const [ofOrganization, ofProcess] = [new Places(1), new Places(1)];

/** As the backup format derives it, so that a customer opens a backup with the passphrase alone. Runs off the main thread. */
export async function deriveKey(organizationId: string, passphrase: string, derivation: Derivation): Promise<Buffer> {
  const { iterations: count, salt, algorithm } = derivation;
  const isSensible = Number.isInteger(count) && count >= iterationsMin && count <= iterationsMax;
  if (algorithm !== 'PBKDF2-HMAC-SHA256' || !isSensible || !saltPattern.test(salt)) {
    throw new Problem('DECRYPTION_ERROR', 'The stored parameters of the passphrase are damaged.');
  }
  const derive = () => pbkdf2Async(passphrase.normalize('NFC'), Buffer.from(salt, 'hex'), count, 32, 'sha256');
  return ofOrganization.run(organizationId, () => ofProcess.run('', derive));
}

/** Its first 16 characters are the key id that the backup format shows beside a wrapped data key. */
export function fingerprintOf(key: Uint8Array): string {
  return Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), 'holdfast/1 key id', 32)).toString('hex');
}
