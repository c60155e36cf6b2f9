import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Transaction } from '../../../platform/database/database.ts';
import { dayMs, minuteMs } from '../../../platform/durations.ts';
import type { Ids } from '../../../platform/ids.ts';
import { Problem } from '../../../platform/problem.ts';
import type { MasterKeyring } from '../../../platform/secrets/master-keyring.ts';
import {
  allSigningKeys,
  insertSigningKey,
  lockCurrentKey,
  removeRetiredKeys,
  retireCurrentKey,
  type SigningKeyRow,
} from './signing-key-store.ts';

export interface SigningKey {
  id: string | undefined;
  key: CryptoKey | Uint8Array;
}

/** The keys of access tokens: one signs, earlier ones still verify what they signed. */
export interface SigningKeys {
  readonly algorithm: 'RS256' | 'HS256';
  current(): Promise<SigningKey>;
  verifying(id: string | undefined): Promise<CryptoKey | Uint8Array>;
  /** What /.well-known/jwks.json shows. */
  published(): Promise<JWK[]>;
}

/** Signs a document as a compact JWS. Its type prevents that it is accepted as an access token. */
export async function signReport(keys: SigningKeys, payload: object): Promise<string> {
  const { id, key } = await keys.current();
  const header = { alg: keys.algorithm, typ: 'holdfast-report+jws', ...(id ? { kid: id } : {}) };
  return new CompactSign(new TextEncoder().encode(JSON.stringify(payload))).setProtectedHeader(header).sign(key);
}

export class SharedSecretKeys implements SigningKeys {
  readonly algorithm = 'HS256';
  readonly #secret: Uint8Array;

  constructor(secret: string) {
    this.#secret = new TextEncoder().encode(secret);
  }

  async current(): Promise<SigningKey> {
    return { id: undefined, key: this.#secret };
  }

  async verifying(): Promise<Uint8Array> {
    return this.#secret;
  }

  async published(): Promise<JWK[]> {
    return [];
  }
}

const reloadMs = minuteMs;
/** The longest ACCESS_TOKEN_TTL. */
const tokenLifetimeMsMax = dayMs;

interface KeptKey {
  id: string;
  publicJwk: JWK;
  retiredAt: Date | null;
  publicKey: CryptoKey;
  privateKey: CryptoKey | undefined;
}

/**
 * RS256 key pairs, created on first use and stored sealed in the database, so that every process signs with the same
 * one.
 */
export class StoredKeyPairs implements SigningKeys {
  readonly algorithm = 'RS256';
  readonly #database: Database;
  readonly #keyring: MasterKeyring;
  readonly #clock: Clock;
  readonly #ids: Ids;
  #kept: KeptKey[] = [];
  #loadedAtMs = Number.NEGATIVE_INFINITY;
  #loading: Promise<KeptKey[]> | undefined;

  constructor(options: { database: Database; keyring: MasterKeyring; clock: Clock; ids: Ids }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#ids = options.ids;
  }

  async current(): Promise<SigningKey> {
    const found = (await this.#load(false)).find((key) => key.privateKey);
    if (!found?.privateKey) throw new Error('there is no signing key');
    return { id: found.id, key: found.privateKey };
  }

  async verifying(id: string | undefined): Promise<CryptoKey> {
    const find = (keys: KeptKey[]) => keys.find((key) => key.id === id && this.#mayVerifyTokens(key))?.publicKey;
    const found = find(await this.#load(false)) ?? (this.#isStale(1000) ? find(await this.#load(true)) : undefined);
    if (!found) throw new Problem('UNAUTHORIZED', 'The access token is not valid.');
    return found;
  }

  /**
   * A retired key verifies tokens until its last token has expired. Other documents it signed are verified by others
   * with the published keys.
   */
  #mayVerifyTokens({ retiredAt }: KeptKey): boolean {
    return retiredAt === null || retiredAt.getTime() + tokenLifetimeMsMax + 2 * reloadMs > this.#clock.now().getTime();
  }

  async published(): Promise<JWK[]> {
    return (await this.#load(false)).map((key) => key.publicJwk);
  }

  /** Creates a new signing key; the old one verifies until its tokens have expired. */
  async rotate(): Promise<void> {
    await this.#database.system((transaction) => this.#replace(transaction));
    await this.#reload();
  }

  async rotateIfOlderThan(before: Date): Promise<void> {
    const rotated = await this.#database.system(async (transaction) => {
      const current = await lockCurrentKey(transaction);
      if (!current || current.createdAt >= before) return false;
      await this.#replace(transaction);
      return true;
    });
    if (rotated) await this.#reload();
  }

  async #replace(transaction: Transaction): Promise<void> {
    await lockCurrentKey(transaction);
    await retireCurrentKey(transaction, this.#clock.now());
    await this.#make(transaction);
  }

  async #load(force: boolean): Promise<KeptKey[]> {
    return force || this.#isStale(reloadMs) ? this.#reload() : this.#kept;
  }

  /** Calls that arrive while the keys are being read share the result. */
  #reload(): Promise<KeptKey[]> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #read(): Promise<KeptKey[]> {
    this.#kept = await this.#database.system(async (transaction) => {
      const current = await lockCurrentKey(transaction);
      if (!current) await this.#make(transaction);
      const rows = await allSigningKeys(transaction);
      return Promise.all(rows.map((row) => this.#import(row)));
    });
    this.#loadedAtMs = performance.now();
    return this.#kept;
  }

  #isStale(ageMs: number): boolean {
    return performance.now() - this.#loadedAtMs > ageMs;
  }

  async #make(transaction: Transaction): Promise<void> {
    const pair = await generateKeyPair('RS256', { modulusLength: 2048, extractable: true });
    const id = this.#ids.next('key');
    const publicJwk = JSON.stringify({ ...(await exportJWK(pair.publicKey)), kid: id, alg: 'RS256', use: 'sig' });
    const privateJwk = this.#keyring.seal(JSON.stringify(await exportJWK(pair.privateKey)), `signing_keys:${id}`);
    await insertSigningKey(transaction, { id, publicJwk, privateJwk, createdAt: this.#clock.now() });
  }

  async #import(row: SigningKeyRow): Promise<KeptKey> {
    const publicJwk = JSON.parse(row.publicJwk) as JWK;
    const privateJwk = row.privateJwk
      ? (JSON.parse(this.#keyring.openText(row.privateJwk, `signing_keys:${row.id}`)) as JWK)
      : undefined;
    return {
      id: row.id,
      publicJwk,
      retiredAt: row.retiredAt,
      publicKey: (await importJWK(publicJwk, 'RS256')) as CryptoKey,
      privateKey: privateJwk ? ((await importJWK(privateJwk, 'RS256')) as CryptoKey) : undefined,
    };
  }

  /**
   * Removes retired keys that nothing has to be verified with any more. Other processes may sign with a retired key
   * until they read the keys again.
   */
  async removeExpired(before: Date): Promise<void> {
    const retiredBefore = new Date(before.getTime() - 2 * reloadMs);
    await this.#database.system((transaction) => removeRetiredKeys(transaction, retiredBefore));
  }
}
