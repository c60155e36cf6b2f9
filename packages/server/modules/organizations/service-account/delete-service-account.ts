import { operations } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import { changeWithRole } from '../authorize-change.ts';
import type { ConditionalCaller, OrganizationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { serviceAccountEtag } from '../members/present-team.ts';
import { findServiceAccount, removeServiceAccount, type ServiceAccountRow } from './service-account-store.ts';

const { role } = operations.deleteServiceAccount.access;

/** Both of its keys stop working with the commit. */
export async function deleteServiceAccount(
  context: OrganizationsContext,
  organizationId: string,
  caller: ConditionalCaller,
): Promise<void> {
  await changeWithRole(context, organizationId, caller, role, async (transaction) => {
    const account = await requireServiceAccount(transaction, organizationId);
    caller.requireMatch(serviceAccountEtag(account));
    await removeServiceAccount(transaction, organizationId);
    await audit(context, transaction, caller, organizationId, {
      action: 'service_account.deleted',
      resource: { type: 'service_account', id: account.id },
      details: { name: account.name },
    });
  });
}

export async function requireServiceAccount(
  transaction: Transaction,
  organizationId: string,
): Promise<ServiceAccountRow> {
  const account = await findServiceAccount(transaction, organizationId);
  if (!account) throw new Problem('SERVICE_ACCOUNT_NOT_FOUND', 'The organization has no service account.');
  return account;
}
