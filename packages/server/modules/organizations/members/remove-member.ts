import { operations } from '@holdfast/contract';
import { changeWithRole } from '../authorize-change.ts';
import type { Caller, InvitationsContext } from '../context.ts';
import { audit, emit, memberInEvent } from '../events-and-audit.ts';
import { withdrawInvitations } from '../invitations/withdraw-invitations.ts';
import { deleteMember, findMember } from './member-store.ts';
import { cannotRemoveOwner, memberNotFound } from './update-member.ts';

const { role: least } = operations.removeMember.access;

/** Removes a member from the organization, effective on that person's next call. Everyone but the owner may leave. */
export async function removeMember(
  context: InvitationsContext,
  organizationId: string,
  caller: Caller,
  userId: string,
): Promise<void> {
  const leaves = caller.principal.kind === 'person' && caller.principal.userId === userId;
  const required = leaves ? 'viewer' : least;
  await changeWithRole(context, organizationId, caller, required, async (transaction, { organization }) => {
    const member = await findMember(transaction, organizationId, userId);
    if (!member) throw memberNotFound();
    if (member.role === 'owner') throw cannotRemoveOwner();
    await deleteMember(transaction, organizationId, userId);
    await context.later.memberLeft(transaction, organizationId, userId);
    await withdrawInvitations(context, transaction, caller, organizationId, { userId, role: undefined });
    await emit(context, transaction, caller, organization, 'member.left', { member: memberInEvent(member) });
    await audit(context, transaction, caller, organizationId, {
      action: leaves ? 'member.left' : 'member.removed',
      resource: { type: 'member', id: userId },
      details: { email: member.email, role: member.role },
    });
  });
}
