import { operations, type Role, roleAtLeast } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import type { Caller, InvitationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import type { MemberRow } from '../members/member-store.ts';
import { changeInvitation, pendingFrom } from './invitation-store.ts';

const { role: least } = operations.createInvitation.access;

/**
 * Cancels the invitations of a person who left or lost the right to invite: with another address they could let
 * themselves in again.
 */
export async function withdrawInvitations(
  context: InvitationsContext,
  transaction: Transaction,
  caller: Caller,
  organizationId: string,
  { userId, role }: Pick<MemberRow, 'userId'> & { role: Role | undefined },
): Promise<void> {
  const mayGrant = (granted: Role) => role !== undefined && roleAtLeast(role, least) && roleAtLeast(role, granted);
  for (const invitation of await pendingFrom(transaction, organizationId, userId)) {
    if (mayGrant(invitation.role)) continue;
    await changeInvitation(transaction, organizationId, invitation.id, { status: 'cancelled' });
    await context.mails.withdraw(transaction, organizationId, invitation.id);
    await audit(context, transaction, caller, organizationId, {
      action: 'invitation.cancelled',
      resource: { type: 'invitation', id: invitation.id },
      details: { email: invitation.email, role: invitation.role, reason: 'inviter_lost_role' },
    });
  }
}
