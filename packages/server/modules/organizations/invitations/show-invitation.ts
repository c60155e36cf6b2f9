import { Problem } from '../../../platform/problem.ts';
import type { InvitationsContext } from '../context.ts';
import { findOrganization } from '../organization-store.ts';
import { invitationNotFound } from './cancel-invitation.ts';
import { findByToken, type InvitationRow, lockInvitation } from './invitation-store.ts';
import { hashInvitationToken } from './invitation-token.ts';

/** Shows what is in the mail. Who has the token has read the mail, or got the link from somebody who did. */
export async function showInvitation(context: InvitationsContext, token: string) {
  const tokenHash = hashInvitationToken(token);
  const address = await context.database.system((transaction) => findByToken(transaction, tokenHash));
  if (!address) throw invitationNotFound();
  return context.database.tenant(address.organizationId, async (transaction) => {
    const organization = await findOrganization(transaction, address.organizationId);
    const invitation = await lockInvitation(transaction, address.organizationId, address.id);
    if (!organization || !invitation) throw invitationNotFound();
    requireOpen(invitation, context.clock.now());
    return { organization, invitation };
  });
}

/** Throws for an invitation that was accepted or cancelled (gone) or has expired. */
export function requireOpen(invitation: InvitationRow, now: Date): void {
  if (invitation.status === 'accepted' || invitation.status === 'cancelled') throw invitationNotFound();
  if (invitation.status === 'expired' || invitation.expiresAt <= now)
    throw new Problem('INVITATION_EXPIRED', 'The invitation has expired. Ask for a new one.');
}
