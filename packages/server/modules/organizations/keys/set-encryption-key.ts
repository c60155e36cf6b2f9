import { operations } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { requirePlan } from '../../../platform/problem.ts';
import { changeWithRole } from '../authorize-change.ts';
import type { ConditionalCaller, OrganizationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { outdateRecoveryKit } from '../organization-store.ts';
import { changeKey, type Derivation, insertKey, type KeyRow, listKeys } from './key-store.ts';
import { currentKey, keyPurpose, passphrasePurpose } from './organization-keys.ts';
import { deriveKey, fingerprintOf, newDerivation } from './passphrase.ts';
import { encryptionKeyEtag } from './present-encryption-key.ts';

const { plan } = operations.setEncryptionKey;
const { role } = operations.setEncryptionKey.access;

interface Supplied {
  kind: 'passphrase' | 'key';
  key: Buffer;
  fingerprint: string;
  derivation: Derivation | null;
  passphrase: string | null;
}

/**
 * From now on the customer's key wraps the keys of new backups. A key that was here before is recognised by its
 * fingerprint and makes its backups readable again. The replaced key stays available for its own backups.
 */
export async function setEncryptionKey(
  context: OrganizationsContext,
  organizationId: string,
  caller: ConditionalCaller,
  given: { passphrase?: string | undefined; key?: string | undefined },
): Promise<KeyRow> {
  const supplied =
    given.passphrase === undefined
      ? fromKey(Buffer.from(given.key ?? '', 'base64'))
      : await fromPassphrase(context, organizationId, given.passphrase);
  return changeWithRole(context, organizationId, caller, role, async (transaction, { organization }) => {
    const current = await currentKey(context, transaction, organizationId);
    caller.requireMatch(encryptionKeyEtag(current));
    if (current.fingerprint === supplied.fingerprint) return keepPassphrase(context, transaction, current, supplied);
    const known = await listKeys(transaction, organizationId);
    // A key that was here before is not a new key, so it is accepted on every plan: its backups are unreadable without
    // it.
    if (!known.some(({ fingerprint }) => fingerprint === supplied.fingerprint)) requirePlan(organization.plan, plan);
    await changeKey(transaction, organizationId, current.id, { retiredAt: context.clock.now() });
    await outdateRecoveryKit(transaction, organizationId, context.clock.now());
    const row = await activate(context, transaction, organizationId, supplied, current.version + 1);
    await context.later.keysChanged(transaction, organizationId);
    await audit(context, transaction, caller, organizationId, {
      action: 'encryption_key.updated',
      resource: { type: 'encryption_key', id: row.id },
      details: { type: row.kind, version: row.version, replaced: current.id },
    });
    return row;
  });
}

function fromKey(key: Buffer): Supplied {
  return { kind: 'key', key, fingerprint: fingerprintOf(key), derivation: null, passphrase: null };
}

/** Derives before the transaction begins, because it takes long; tries the parameters of earlier passphrases first. */
async function fromPassphrase(
  context: OrganizationsContext,
  organizationId: string,
  passphrase: string,
): Promise<Supplied> {
  const rows = await context.database.tenant(organizationId, (transaction) => listKeys(transaction, organizationId));
  const known = new Map<string, Derivation>();
  for (const { derivation } of rows)
    if (derivation) known.set(`${derivation.salt} ${derivation.iterations}`, derivation);
  for (const derivation of known.values()) {
    const key = await deriveKey(organizationId, passphrase, derivation);
    const fingerprint = fingerprintOf(key);
    if (rows.some((row) => row.fingerprint === fingerprint))
      return { kind: 'passphrase', key, fingerprint, derivation, passphrase };
  }
  const derivation = newDerivation(known.values().next().value?.salt);
  const key = await deriveKey(organizationId, passphrase, derivation);
  return { kind: 'passphrase', key, fingerprint: fingerprintOf(key), derivation, passphrase };
}

async function activate(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
  supplied: Supplied,
  version: number,
): Promise<KeyRow> {
  const { clock, ids, keyring } = context;
  const now = clock.now();
  const rows = await listKeys(transaction, organizationId);
  const known = rows.find((row) => row.fingerprint === supplied.fingerprint);
  if (known) {
    const sealed = keyring.seal(supplied.key, keyPurpose(known.id));
    // Supplying the derived key does not withdraw its passphrase: the passphrase opens what other services made with
    // it.
    const passphrase = sealPassphrase(context, known.id, supplied.passphrase) ?? known.passphrase;
    const change = { sealed, passphrase, version, activatedAt: now, retiredAt: null };
    await changeKey(transaction, organizationId, known.id, change);
    return { ...known, ...change };
  }
  const id = ids.next('key');
  const { key, ...facts } = supplied;
  return insertKey(transaction, {
    id,
    organizationId,
    ...facts,
    sealed: keyring.seal(key, keyPurpose(id)),
    passphrase: sealPassphrase(context, id, supplied.passphrase),
    version,
    createdAt: now,
    activatedAt: now,
    retiredAt: null,
  });
}

function sealPassphrase({ keyring }: OrganizationsContext, keyId: string, passphrase: string | null): string | null {
  return passphrase === null ? null : keyring.seal(passphrase.normalize('NFC'), passphrasePurpose(keyId));
}

/** Adds the passphrase to a key that was supplied before passphrases were stored. */
async function keepPassphrase(
  context: OrganizationsContext,
  transaction: Transaction,
  current: KeyRow,
  { passphrase }: Supplied,
): Promise<KeyRow> {
  if (passphrase === null || current.passphrase !== null) return current;
  const change = { passphrase: sealPassphrase(context, current.id, passphrase) };
  await changeKey(transaction, current.organizationId, current.id, change);
  return { ...current, ...change };
}
