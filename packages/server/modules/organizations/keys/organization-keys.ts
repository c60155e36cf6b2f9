import { randomBytes } from 'node:crypto';
import type { KeptKey } from '@holdfast/engine';
import type { Transaction } from '../../../platform/database/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import { Problem } from '../../../platform/problem.ts';
import { lockOrganization, outdateRecoveryKit } from '../organization-store.ts';
import { type Derivation, findCurrentKey, findKey, insertKey, type KeyRow, listKeys } from './key-store.ts';
import { fingerprintOf } from './passphrase.ts';

/** A key that wraps the data keys of an organization's backups. */
export interface OrganizationKey {
  keyId: string;
  kind: KeyRow['kind'];
  key: Buffer;
  /** How the passphrase became this key. It is part of the envelope, so that the passphrase alone opens it. */
  derivation: Derivation | null;
  /** The passphrase itself: backups of another service have other salts. */
  passphrase: string | null;
}

export type KeyMaker = Pick<Platform, 'clock' | 'ids' | 'keyring'>;

export const keyPurpose = (keyId: string) => `organization_keys:${keyId}`;
export const passphrasePurpose = (keyId: string) => `organization_keys.passphrase:${keyId}`;

/** The middle of the hierarchy master key → organization key → data key of a backup. */
export class OrganizationKeys {
  readonly #maker: KeyMaker;

  constructor(maker: KeyMaker) {
    this.#maker = maker;
  }

  /** The key that wraps new data keys. */
  async current(transaction: Transaction, organizationId: string): Promise<OrganizationKey> {
    return this.open(await currentKey(this.#maker, transaction, organizationId));
  }

  /** The key that wrapped an existing data key. Throws DECRYPTION_ERROR when the customer withdrew it or it is gone. */
  async byId(transaction: Transaction, organizationId: string, keyId: string): Promise<OrganizationKey> {
    return this.open(await findKey(transaction, organizationId, keyId));
  }

  /** Every available key, the current one first. A catalogue is rebuilt from the bucket with these. */
  async available(transaction: Transaction, organizationId: string): Promise<OrganizationKey[]> {
    const rows = await listKeys(transaction, organizationId);
    return rows.filter((row) => row.sealed !== null).map((row) => this.open(row));
  }

  /** The key that wraps new data keys, and the other available ones. */
  async currentAndOthers(
    transaction: Transaction,
    organizationId: string,
  ): Promise<{ current: OrganizationKey; others: OrganizationKey[] }> {
    const rows = await allKeys(this.#maker, transaction, organizationId);
    const others = rows.filter(({ sealed, retiredAt }) => sealed !== null && retiredAt !== null);
    return { current: this.open(rows.find(isInUse)), others: others.map((row) => this.open(row)) };
  }

  open(row: KeyRow | undefined): OrganizationKey {
    if (!row) throw new Problem('DECRYPTION_ERROR', 'The key of this backup no longer exists; nothing can read it.');
    if (row.sealed === null) {
      throw new Problem(
        'DECRYPTION_ERROR',
        `The ${row.kind} this backup was made with was withdrawn. Supply it again: holdfast encryption-key set, or Settings, Encryption key in the dashboard.`,
      );
    }
    const key = this.#maker.keyring.open(row.sealed, keyPurpose(row.id));
    const passphrase =
      row.passphrase === null ? null : this.#maker.keyring.openText(row.passphrase, passphrasePurpose(row.id));
    return { keyId: row.id, kind: row.kind, key, derivation: row.derivation, passphrase };
  }

  /** Every available key, in the form that is stored beside the backups. */
  async kept(transaction: Transaction, organizationId: string): Promise<KeptKey[]> {
    const rows = await allKeys(this.#maker, transaction, organizationId);
    return rows
      .filter((row) => row.sealed !== null)
      .map((row) => {
        const { keyId, kind, key, derivation, passphrase } = this.open(row);
        const how = derivation && { salt: derivation.salt, iterations: derivation.iterations };
        const createdAt = row.createdAt.toISOString();
        return { keyId, kind, key: key.toString('base64'), derivation: how, passphrase, createdAt };
      });
  }

  /** Adds keys that were found beside backups; keys that exist here stay unchanged. */
  async adopt(transaction: Transaction, organizationId: string, keys: readonly KeptKey[]): Promise<number> {
    const { clock, ids, keyring } = this.#maker;
    const known = new Set(
      (await allKeys(this.#maker, transaction, organizationId)).map(({ fingerprint }) => fingerprint),
    );
    let adopted = 0;
    for (const kept of keys) {
      const key = Buffer.from(kept.key, 'base64');
      const fingerprint = fingerprintOf(key);
      if (key.length !== 32 || known.has(fingerprint)) continue;
      known.add(fingerprint);
      const id = ids.next('key');
      const now = clock.now();
      await insertKey(transaction, {
        id,
        organizationId,
        kind: kept.kind,
        sealed: keyring.seal(key, keyPurpose(id)),
        passphrase: kept.passphrase === null ? null : keyring.seal(kept.passphrase, passphrasePurpose(id)),
        derivation: kept.derivation && { algorithm: 'PBKDF2-HMAC-SHA256', ...kept.derivation },
        fingerprint,
        version: 0,
        createdAt: new Date(kept.createdAt),
        activatedAt: now,
        retiredAt: now,
      });
      adopted++;
    }
    if (adopted > 0) await outdateRecoveryKit(transaction, organizationId, clock.now());
    return adopted;
  }
}

const isInUse = ({ retiredAt }: KeyRow) => retiredAt === null;

/** Every row, the latest change first, including the current key. */
async function allKeys(maker: KeyMaker, transaction: Transaction, organizationId: string): Promise<KeyRow[]> {
  const rows = await listKeys(transaction, organizationId);
  if (rows.some(isInUse)) return rows;
  await currentKey(maker, transaction, organizationId);
  return listKeys(transaction, organizationId);
}

/** The row of the current key. An organization without a key gets one, under its lock, so that it gets only one. */
export async function currentKey(maker: KeyMaker, transaction: Transaction, organizationId: string): Promise<KeyRow> {
  const found = await findCurrentKey(transaction, organizationId);
  if (found) return found;
  await lockOrganization(transaction, organizationId);
  return (await findCurrentKey(transaction, organizationId)) ?? createServiceKey(maker, transaction, organizationId, 1);
}

/** Creates a key of the service's own, current from now on. The previous key must be retired before. */
export async function createServiceKey(
  { clock, ids, keyring }: KeyMaker,
  transaction: Transaction,
  organizationId: string,
  version: number,
): Promise<KeyRow> {
  const key = randomBytes(32);
  const id = ids.next('key');
  const now = clock.now();
  return insertKey(transaction, {
    id,
    organizationId,
    kind: 'service',
    sealed: keyring.seal(key, keyPurpose(id)),
    passphrase: null,
    derivation: null,
    fingerprint: fingerprintOf(key),
    version,
    createdAt: now,
    activatedAt: now,
    retiredAt: null,
  });
}
