import { defaultScopes, operations, type Scope } from '@holdfast/contract';
import { Problem } from '../../../platform/problem.ts';
import { createApiKey, hashApiKey } from '../../auth/index.ts';
import { changeWithRole } from '../authorize-change.ts';
import type { Caller, OrganizationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { slugOf } from '../lifecycle/slug.ts';
import { findServiceAccount, insertServiceAccount, type ServiceAccountRow } from './service-account-store.ts';

const { role } = operations.createServiceAccount.access;

/** The key is shown only in this answer; only its hash is stored. Null if an earlier try of the same call made it. */
export async function createServiceAccount(
  context: OrganizationsContext,
  organizationId: string,
  caller: Caller,
  wanted: { name: string; permissions?: Scope[] | undefined },
): Promise<{ account: ServiceAccountRow; apiKey: string | null }> {
  const apiKey = createApiKey();
  const id = context.ids.next('sa', caller.origin.newId);
  const now = context.clock.now();
  return changeWithRole(context, organizationId, caller, role, async (transaction, { organization }) => {
    const existing = await findServiceAccount(transaction, organizationId);
    if (existing) {
      if (existing.id === id) return { account: existing, apiKey: null };
      throw new Problem('SERVICE_ACCOUNT_EXISTS', 'The organization has its service account already.');
    }
    const account: ServiceAccountRow = {
      id,
      organizationId,
      name: wanted.name,
      // A domain that can never exist: the address identifies the account in audit rows and receives nothing.
      email: `${slugOf(wanted.name, 'service-account')}@${organization.slug}.holdfast.invalid`,
      permissions: wanted.permissions ?? [...defaultScopes],
      keyHash: hashApiKey(apiKey),
      previousKeyHash: null,
      previousKeyValidUntil: null,
      rotatedBy: null,
      lastUsedAt: null,
      createdAt: now,
      updatedAt: now,
      version: 1,
    };
    await insertServiceAccount(transaction, account);
    await audit(context, transaction, caller, organizationId, {
      action: 'service_account.created',
      resource: { type: 'service_account', id: account.id },
      details: { name: account.name, permissions: account.permissions },
    });
    return { account, apiKey };
  });
}
