import type { AuditAction, EventData } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { actorOf } from '../audit/index.ts';
import type { Caller, OrganizationsContext } from './context.ts';
import type { InvitationRow } from './invitations/invitation-store.ts';

/** The two traces of a change, both in its transaction: the event for webhooks and the audit row. */

type OrganizationEvent =
  | 'organization.created'
  | 'organization.updated'
  | 'organization.deleted'
  | 'member.joined'
  | 'member.left'
  | 'member.role_changed'
  | 'invitation.created'
  | 'invitation.accepted';

interface Named {
  id: string;
  name: string;
}

export async function emit<Name extends OrganizationEvent>(
  context: OrganizationsContext,
  transaction: Transaction,
  caller: Caller,
  organization: Named,
  type: Name,
  data: Omit<EventData<Name>, 'organization' | 'actor'>,
): Promise<void> {
  const { id, name } = organization;
  const payload = { data: { organization: { id, name }, ...data, actor: actorOf(caller.principal) } };
  await context.outbox.emit(transaction, { organizationId: id, type, payload });
}

export interface Trace {
  action: AuditAction;
  resource: { type: string; id: string };
  details?: Record<string, unknown>;
}

/** Call it last in the transaction: it locks the organization's audit chain until the commit. */
export async function audit(
  context: OrganizationsContext,
  transaction: Transaction,
  caller: Caller,
  organizationId: string,
  trace: Trace,
): Promise<void> {
  const { principal, origin } = caller;
  await context.audit.write(transaction, { organizationId, actor: actorOf(principal), origin, ...trace });
}

interface MemberFacts {
  userId: string;
  email: string;
  name: string;
  role: EventData<'member.joined'>['member']['role'];
}

export function memberInEvent(member: MemberFacts): EventData<'member.joined'>['member'] {
  return { id: member.userId, email: member.email, name: member.name, role: member.role };
}

export function invitationInEvent(invitation: InvitationRow): EventData<'invitation.created'>['invitation'] {
  return {
    id: invitation.id,
    email: invitation.email,
    role: invitation.role,
    expiresAt: invitation.expiresAt.toISOString(),
  };
}
