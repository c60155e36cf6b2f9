import { operations } from '@holdfast/contract';
import { Problem } from '../../../platform/problem.ts';
import { changeWithRole } from '../authorize-change.ts';
import type { ConditionalCaller, OrganizationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { outdateRecoveryKit } from '../organization-store.ts';
import { changeKey, listKeys } from './key-store.ts';
import { createServiceKey, currentKey } from './organization-keys.ts';
import { encryptionKeyEtag } from './present-encryption-key.ts';

const { role } = operations.removeEncryptionKey.access;

/** Forgets every key that the customer supplied and returns to a key of the service's own. */
export async function removeEncryptionKey(
  context: OrganizationsContext,
  organizationId: string,
  caller: ConditionalCaller,
): Promise<void> {
  await changeWithRole(context, organizationId, caller, role, async (transaction) => {
    const current = await currentKey(context, transaction, organizationId);
    caller.requireMatch(encryptionKeyEtag(current));
    if (current.kind === 'service') {
      throw new Problem('INVALID_STATE', "The service's own key is in use; there is no key of yours to withdraw.");
    }
    const keys = await listKeys(transaction, organizationId);
    const withdrawn = keys.filter((key) => key.kind !== 'service' && key.sealed !== null);
    const now = context.clock.now();
    for (const { id, retiredAt } of withdrawn)
      await changeKey(transaction, organizationId, id, { sealed: null, passphrase: null, retiredAt: retiredAt ?? now });
    const row = await createServiceKey(context, transaction, organizationId, current.version + 1);
    await outdateRecoveryKit(transaction, organizationId, now);
    const withdrawnIds = withdrawn.map((key) => key.id);
    await context.later.keysChanged(transaction, organizationId, withdrawnIds);
    await audit(context, transaction, caller, organizationId, {
      action: 'encryption_key.removed',
      resource: { type: 'encryption_key', id: current.id },
      details: { withdrawn: withdrawnIds, replacedBy: row.id, version: row.version },
    });
  });
}
