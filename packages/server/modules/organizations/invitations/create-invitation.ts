import { operations, type Role } from '@holdfast/contract';
import type { Transaction } from '../../../platform/database/database.ts';
import { dayMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { changeWithRole, requireRole } from '../authorize-change.ts';
import type { Caller, InvitationsContext } from '../context.ts';
import { audit, emit, invitationInEvent } from '../events-and-audit.ts';
import { isMemberByEmail } from '../members/member-store.ts';
import { invitationMail } from './invitation-mail.ts';
import {
  changeInvitation,
  findPendingByEmail,
  type InvitationRow,
  insertInvitation,
  lockInvitation,
} from './invitation-store.ts';
import { createInvitationToken, hashInvitationToken } from './invitation-token.ts';
import { countInvitationMail } from './mail-limit-store.ts';

export const invitationMs = 7 * dayMs;
const { role: least } = operations.createInvitation.access;

/** Who an invitation was sent by: it ends when they lose the right to invite. */
export function inviterOf({ principal }: Caller): Pick<InvitationRow, 'invitedById' | 'invitedByEmail'> {
  if (principal.kind !== 'person') throw new Error('only people invite people');
  return { invitedById: principal.userId, invitedByEmail: principal.email };
}

/** The invitation, its mail, its event and its audit row are one transaction. */
export async function createInvitation(
  context: InvitationsContext,
  organizationId: string,
  caller: Caller,
  wanted: { email: string; role: Exclude<Role, 'owner'> },
): Promise<InvitationRow> {
  const inviter = inviterOf(caller);
  const token = createInvitationToken();
  const id = context.ids.next('inv', caller.origin.newId);
  return changeWithRole(context, organizationId, caller, least, async (transaction, { organization, role }) => {
    requireRole(role ?? least, wanted.role);
    const made = caller.origin.newId && (await lockInvitation(transaction, organizationId, id));
    if (made) return made;
    if (await isMemberByEmail(transaction, organizationId, wanted.email))
      throw new Problem('ALREADY_MEMBER', `${wanted.email} is a member already.`);
    await makeRoom(context, transaction, organizationId, wanted.email);
    const now = context.clock.now();
    await countInvitationMail(transaction, { organizationId, userId: inviter.invitedById }, wanted.email, now);
    const invitation: InvitationRow = {
      id,
      organizationId,
      ...wanted,
      status: 'pending',
      tokenHash: hashInvitationToken(token),
      ...inviter,
      createdAt: now,
      resentAt: null,
      expiresAt: new Date(now.getTime() + invitationMs),
    };
    await insertInvitation(transaction, invitation);
    const mail = invitationMail(invitation, organization.name, context.baseUrl(), token);
    await context.mails.post(transaction, organizationId, invitation.id, mail);
    await emit(context, transaction, caller, organization, 'invitation.created', {
      invitation: invitationInEvent(invitation),
    });
    await audit(context, transaction, caller, organizationId, {
      action: 'invitation.created',
      resource: { type: 'invitation', id: invitation.id },
      details: { email: invitation.email, role: invitation.role },
    });
    return invitation;
  });
}

/** Allows one pending invitation per address; an expired one is replaced. */
async function makeRoom(
  context: InvitationsContext,
  transaction: Transaction,
  organizationId: string,
  email: string,
): Promise<void> {
  const pending = await findPendingByEmail(transaction, organizationId, email);
  if (!pending) return;
  if (pending.expiresAt > context.clock.now())
    throw new Problem('INVITATION_EXISTS', `An invitation for ${email} is pending already.`);
  await changeInvitation(transaction, organizationId, pending.id, { status: 'expired' });
  await context.mails.withdraw(transaction, organizationId, pending.id);
}
