import { operations } from '@holdfast/contract';
import { changeWithRole, requireRole } from '../authorize-change.ts';
import type { Caller, InvitationsContext } from '../context.ts';
import { audit } from '../events-and-audit.ts';
import { requirePending } from './cancel-invitation.ts';
import { invitationMs, inviterOf } from './create-invitation.ts';
import { invitationMail } from './invitation-mail.ts';
import { changeInvitation, type InvitationRow } from './invitation-store.ts';
import { createInvitationToken, hashInvitationToken } from './invitation-token.ts';
import { countInvitationMail } from './mail-limit-store.ts';

const { role: least } = operations.resendInvitation.access;

/** Makes a new link, valid for a week; the old link stops working. */
export async function resendInvitation(
  context: InvitationsContext,
  organizationId: string,
  caller: Caller,
  invitationId: string,
): Promise<InvitationRow & { resentAt: Date }> {
  const token = createInvitationToken();
  return changeWithRole(context, organizationId, caller, least, async (transaction, { organization, role }) => {
    const invitation = await requirePending(transaction, organizationId, invitationId);
    requireRole(role ?? least, invitation.role);
    const resentAt = context.clock.now();
    // From now on the invitation depends on the right of the person who resent it.
    const inviter = inviterOf(caller);
    await countInvitationMail(transaction, { organizationId, userId: inviter.invitedById }, invitation.email, resentAt);
    const expiresAt = new Date(resentAt.getTime() + invitationMs);
    const change = { resentAt, expiresAt, tokenHash: hashInvitationToken(token), ...inviter };
    await changeInvitation(transaction, organizationId, invitationId, change);
    const renewed = { ...invitation, ...change };
    const mail = invitationMail(renewed, organization.name, context.baseUrl(), token);
    await context.mails.post(transaction, organizationId, invitationId, mail);
    await audit(context, transaction, caller, organizationId, {
      action: 'invitation.resent',
      resource: { type: 'invitation', id: invitationId },
      details: { email: invitation.email, role: invitation.role },
    });
    return renewed;
  });
}
