import type { Transaction } from '../../../platform/database/database.ts';
import type { Person } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import type { InvitationsContext } from '../context.ts';
import { audit, emit, invitationInEvent, memberInEvent } from '../events-and-audit.ts';
import type { Founder } from '../lifecycle/create-organization.ts';
import { findMember, insertMember } from '../members/member-store.ts';
import { lockOrganization, type OrganizationRow } from '../organization-store.ts';
import { invitationNotFound } from './cancel-invitation.ts';
import { changeInvitation, findByToken, type InvitationRow, lockInvitation } from './invitation-store.ts';
import { hashInvitationToken } from './invitation-token.ts';
import { requireOpen } from './show-invitation.ts';

export interface Joined {
  organization: OrganizationRow;
  role: InvitationRow['role'];
  joinedAt: Date;
}

/** The invitee joins. The token proves that the mail arrived, the verified address that it reached the right person. */
export async function acceptInvitation(context: InvitationsContext, caller: Founder, token: string): Promise<Joined> {
  const tokenHash = hashInvitationToken(token);
  const address = await context.database.system((transaction) => findByToken(transaction, tokenHash));
  if (!address) throw invitationNotFound();
  const { id, organizationId } = address;
  return context.database.tenant(organizationId, async (transaction) => {
    const organization = await lockOrganization(transaction, organizationId);
    const invitation = await lockInvitation(transaction, organizationId, id);
    if (!organization || !invitation || invitation.tokenHash !== tokenHash) throw invitationNotFound();
    requireAcceptable(invitation, caller.principal, context.clock.now());
    return join(context, transaction, caller, organization, invitation);
  });
}

function requireAcceptable(invitation: InvitationRow, person: Person, now: Date): void {
  if (invitation.status === 'accepted' || invitation.status === 'cancelled') throw invitationNotFound();
  if (invitation.email.toLowerCase() !== person.email.toLowerCase())
    throw new Problem(
      'FORBIDDEN',
      'This invitation was sent to another e-mail address than the one you signed in with.',
    );
  if (!person.emailVerified)
    throw new Problem(
      'FORBIDDEN',
      'Your identity provider has not verified your e-mail address, so it proves nothing.',
    );
  requireOpen(invitation, now);
}

async function join(
  context: InvitationsContext,
  transaction: Transaction,
  caller: Founder,
  organization: OrganizationRow,
  invitation: InvitationRow,
): Promise<Joined> {
  const { principal } = caller;
  const { role } = invitation;
  if (await findMember(transaction, organization.id, principal.userId))
    throw new Problem('ALREADY_MEMBER', 'You are a member of this organization already.');
  const joinedAt = context.clock.now();
  await changeInvitation(transaction, organization.id, invitation.id, { status: 'accepted' });
  await context.mails.withdraw(transaction, organization.id, invitation.id);
  await insertMember(transaction, { organizationId: organization.id, userId: principal.userId, role }, joinedAt);
  const member = memberInEvent({ ...principal, role });
  await emit(context, transaction, caller, organization, 'invitation.accepted', {
    invitation: invitationInEvent(invitation),
    member,
  });
  await emit(context, transaction, caller, organization, 'member.joined', { member });
  await audit(context, transaction, caller, organization.id, {
    action: 'invitation.accepted',
    resource: { type: 'invitation', id: invitation.id },
    details: { email: invitation.email, role },
  });
  await audit(context, transaction, caller, organization.id, {
    action: 'member.joined',
    resource: { type: 'member', id: principal.userId },
    details: { email: principal.email, role },
  });
  return { organization, role, joinedAt };
}
