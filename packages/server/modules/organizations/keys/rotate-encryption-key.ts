import { operations } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { changeWithRole } from '../authorize-change.ts';
import type { Caller, OrganizationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { outdateRecoveryKit } from '../organization-store.ts';
import { changeKey, type KeyRow, listKeys } from './key-store.ts';
import { createServiceKey, currentKey, OrganizationKeys } from './organization-keys.ts';

const { role } = operations.rotateEncryptionKey.access;

/**
 * Re-wraps the key of every backup, without touching backup data. The service's own key is replaced by a new one. Only
 * the customer can replace a customer's key, so then all backup keys are wrapped with the current one. All or nothing:
 * a backup whose key was withdrawn ends the rotation with DECRYPTION_ERROR.
 */
export async function rotateEncryptionKey(
  context: OrganizationsContext,
  organizationId: string,
  caller: Caller,
): Promise<{ row: KeyRow; rewrapped: number }> {
  return changeWithRole(context, organizationId, caller, role, async (transaction) => {
    const before = await currentKey(context, transaction, organizationId);
    const row = await renew(context, transaction, organizationId, before);
    const rewrapped = await rewrapAll(context, transaction, organizationId, row);
    await context.later.keysChanged(transaction, organizationId);
    await audit(context, transaction, caller, organizationId, {
      action: 'encryption_key.rotated',
      resource: { type: 'encryption_key', id: row.id },
      details: { version: row.version, replaced: before.id === row.id ? null : before.id, rewrapped },
    });
    return { row, rewrapped };
  });
}

async function renew(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
  before: KeyRow,
): Promise<KeyRow> {
  const now = context.clock.now();
  const version = before.version + 1;
  if (before.kind === 'service') {
    await changeKey(transaction, organizationId, before.id, { retiredAt: now });
    await outdateRecoveryKit(transaction, organizationId, now);
    return createServiceKey(context, transaction, organizationId, version);
  }
  await changeKey(transaction, organizationId, before.id, { version, activatedAt: now });
  return { ...before, version, activatedAt: now };
}

async function rewrapAll(
  context: OrganizationsContext,
  transaction: Transaction,
  organizationId: string,
  row: KeyRow,
): Promise<number> {
  const keys = new OrganizationKeys(context);
  const rows = new Map((await listKeys(transaction, organizationId)).map((found) => [found.id, found]));
  const source = {
    open: (keyId: string) => keys.open(rows.get(keyId)),
    wrapWith: keys.open(row),
    atHand: await keys.available(transaction, organizationId),
  };
  let rewrapped = 0;
  for (const rewrap of context.later.rewraps) rewrapped += await rewrap(transaction, organizationId, source);
  return rewrapped;
}
