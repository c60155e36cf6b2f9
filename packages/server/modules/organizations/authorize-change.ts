import { type Role, roleAtLeast } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { Problem } from '../../platform/problem.ts';
import type { Caller, OrganizationsContext } from './context.ts';
import { findMember } from './members/member-store.ts';
import { lockOrganization, type OrganizationRow } from './organization-store.ts';
import { findServiceAccount } from './service-account/service-account-store.ts';

export interface AuthorizedChange {
  organization: OrganizationRow;
  /** Null for an API key: its scopes were already checked. */
  role: Role | null;
}

/**
 * Begins a change: locks the organization, then reads the caller's role again. So changes of one organization run one
 * after another, and a change is refused when its caller was demoted or removed while it waited.
 */
export async function authorizeChange(
  transaction: Transaction,
  organizationId: string,
  caller: Caller,
  required: Role,
): Promise<AuthorizedChange> {
  const organization = await lockOrganization(transaction, organizationId);
  if (!organization) throw organizationNotFound();
  const role = await currentRole(transaction, organizationId, caller);
  if (role !== null) requireRole(role, required);
  return { organization, role };
}

/** A change in one transaction of the organization, begun by `authorizeChange`. */
export function changeWithRole<T>(
  context: OrganizationsContext,
  organizationId: string,
  caller: Caller,
  required: Role,
  change: (transaction: Transaction, authorized: AuthorizedChange) => Promise<T>,
): Promise<T> {
  return context.database.tenant(organizationId, async (transaction) =>
    change(transaction, await authorizeChange(transaction, organizationId, caller, required)),
  );
}

async function currentRole(transaction: Transaction, organizationId: string, caller: Caller): Promise<Role | null> {
  const { principal } = caller;
  if (principal.kind === 'key') {
    const account = await findServiceAccount(transaction, organizationId);
    if (account?.id === principal.serviceAccountId) return null;
    throw new Problem('UNAUTHORIZED', 'The API key is not valid.');
  }
  const member = await findMember(transaction, organizationId, principal.userId);
  if (!member) throw new Problem('FORBIDDEN', 'You are not a member of this organization.');
  return member.role;
}

export function requireRole(current: Role, required: Role): void {
  if (roleAtLeast(current, required)) return;
  const details = { requiredRole: required, currentRole: current };
  throw new Problem('PERMISSION_DENIED', `This needs the role ${required}; yours is ${current}.`, { details });
}

export function organizationNotFound(): Problem {
  return new Problem('ORGANIZATION_NOT_FOUND', 'There is no such organization.');
}
