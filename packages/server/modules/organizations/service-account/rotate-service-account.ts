import { operations } from '@holdfast/contract';
import { createApiKey, hashApiKey } from '../../auth/index.ts';
import { changeWithRole } from '../authorize-change.ts';
import type { Caller, OrganizationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { requireServiceAccount } from './delete-service-account.ts';
import { changeServiceAccount, type ServiceAccountRow } from './service-account-store.ts';

const { role } = operations.rotateServiceAccount.access;

export interface RotatedKey {
  account: ServiceAccountRow;
  /** Null if an earlier try of the same call made it: then nobody has seen it. */
  apiKey: string | null;
  previousKeyValidUntil: Date;
}

/**
 * Makes a new key at once; the old one works for the grace period. At most two keys work: an earlier key in its grace
 * period ends now.
 */
export async function rotateServiceAccount(
  context: OrganizationsContext,
  organizationId: string,
  caller: Caller,
  graceSeconds: number,
): Promise<RotatedKey> {
  const apiKey = createApiKey();
  const now = context.clock.now();
  const previousKeyValidUntil = new Date(now.getTime() + graceSeconds * 1000);
  return changeWithRole(context, organizationId, caller, role, async (transaction) => {
    const account = await requireServiceAccount(transaction, organizationId);
    const { newId: rotatedBy = null } = caller.origin;
    // Another rotation would end the key that machines still use.
    if (rotatedBy !== null && account.rotatedBy === rotatedBy && account.previousKeyValidUntil)
      return { account, apiKey: null, previousKeyValidUntil: account.previousKeyValidUntil };
    await changeServiceAccount(transaction, organizationId, now, {
      keyHash: hashApiKey(apiKey),
      previousKeyHash: account.keyHash,
      previousKeyValidUntil,
      rotatedBy,
    });
    await audit(context, transaction, caller, organizationId, {
      action: 'service_account.rotated',
      resource: { type: 'service_account', id: account.id },
      details: { previousKeyValidUntil: previousKeyValidUntil.toISOString() },
    });
    return { account, apiKey, previousKeyValidUntil };
  });
}
