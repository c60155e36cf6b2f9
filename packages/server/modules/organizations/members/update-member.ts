import { operations, type Role } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import { authorizeChange, requireRole } from '../authorize-change.ts';
import type { Caller, InvitationsContext } from '../context.ts';
import { audit, emit, memberInEvent } from '../events-and-audit.ts';
import { withdrawInvitations } from '../invitations/withdraw-invitations.ts';
import type { OrganizationRow } from '../organization-store.ts';
import { countOwned, findMember, findOwner, type MemberRow, setRole } from './member-store.ts';

const { role: least } = operations.updateMember.access;

/**
 * Gives a member another role. Nobody grants or changes a role above their own. Making someone owner transfers
 * ownership in the same transaction. The organization's lock serializes concurrent changes, so there is always one
 * owner.
 */
export async function updateMember(
  context: InvitationsContext,
  organizationId: string,
  caller: Caller,
  userId: string,
  role: Role,
): Promise<MemberRow> {
  const change = async (transaction: Transaction) => {
    const authorized = await authorizeChange(transaction, organizationId, caller, least);
    const own = authorized.role ?? least;
    requireRole(own, role);
    const target = await findMember(transaction, organizationId, userId);
    if (!target) throw memberNotFound();
    requireRole(own, target.role);
    if (target.role === role) return target;
    if (target.role === 'owner') throw cannotRemoveOwner();
    if (role === 'owner') {
      await requireMayOwnAnother(context, transaction, target);
      await stepDown(context, transaction, authorized.organization, caller);
    }
    return changeRole(context, transaction, authorized.organization, caller, target, role);
  };
  // Across organizations, because the new owner's other organizations count.
  if (role === 'owner') return context.database.system(change);
  return context.database.tenant(organizationId, change);
}

/** Otherwise two people could own any number of organizations: one creates them, the other receives them. */
async function requireMayOwnAnother(
  { config }: InvitationsContext,
  transaction: Transaction,
  { userId, email }: MemberRow,
): Promise<void> {
  const owned = await countOwned(transaction, userId);
  const limit = config.ORGANIZATIONS_PER_USER_MAX;
  if (owned >= limit)
    throw new Problem('LIMIT_REACHED', `${email} owns ${owned} organizations; more are not allowed here.`, {
      details: { limit },
    });
}

/** Demote first, then promote: there are never two owners. */
async function stepDown(
  context: InvitationsContext,
  transaction: Transaction,
  organization: OrganizationRow,
  caller: Caller,
): Promise<void> {
  const owner = await findOwner(transaction, organization.id);
  await changeRole(context, transaction, organization, caller, owner, 'admin');
}

async function changeRole(
  context: InvitationsContext,
  transaction: Transaction,
  organization: OrganizationRow,
  caller: Caller,
  member: MemberRow,
  role: Role,
): Promise<MemberRow> {
  const updatedAt = context.clock.now();
  const changed = { ...member, role, updatedAt };
  await setRole(transaction, { organizationId: organization.id, userId: member.userId, role }, updatedAt);
  await withdrawInvitations(context, transaction, caller, organization.id, changed);
  await emit(context, transaction, caller, organization, 'member.role_changed', {
    member: { ...memberInEvent(changed), previousRole: member.role },
  });
  await audit(context, transaction, caller, organization.id, {
    action: 'member.role_changed',
    resource: { type: 'member', id: member.userId },
    details: { email: member.email, previousRole: member.role, role },
  });
  return changed;
}

export function memberNotFound(): Problem {
  return new Problem('MEMBER_NOT_FOUND', 'The organization has no such member.');
}

export function cannotRemoveOwner(): Problem {
  return new Problem('CANNOT_REMOVE_OWNER', 'Make another member owner first; an organization always has one.');
}
