import { operations } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { Problem } from '../../../platform/problem.ts';
import { changeWithRole, requireRole } from '../authorize-change.ts';
import type { Caller, InvitationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { changeInvitation, type InvitationRow, lockInvitation } from './invitation-store.ts';

const { role: least } = operations.cancelInvitation.access;

export async function cancelInvitation(
  context: InvitationsContext,
  organizationId: string,
  caller: Caller,
  invitationId: string,
): Promise<void> {
  await changeWithRole(context, organizationId, caller, least, async (transaction, { role }) => {
    const invitation = await requirePending(transaction, organizationId, invitationId);
    requireRole(role ?? least, invitation.role);
    await changeInvitation(transaction, organizationId, invitationId, { status: 'cancelled' });
    await context.mails.withdraw(transaction, organizationId, invitationId);
    await audit(context, transaction, caller, organizationId, {
      action: 'invitation.cancelled',
      resource: { type: 'invitation', id: invitationId },
      details: { email: invitation.email, role: invitation.role },
    });
  });
}

/**
 * Throws unless the invitation is pending. An expired one counts as pending: it can still be sent again or cancelled.
 */
export async function requirePending(
  transaction: Transaction,
  organizationId: string,
  invitationId: string,
): Promise<InvitationRow> {
  const invitation = await lockInvitation(transaction, organizationId, invitationId);
  if (invitation?.status !== 'pending') throw invitationNotFound();
  return invitation;
}

export function invitationNotFound(): Problem {
  return new Problem('INVITATION_NOT_FOUND', 'There is no such invitation, or it is no longer pending.');
}
