import type { Transaction } from '../../../platform/database/database.ts';
import { and, desc, eq, gt, isNull, lt, sql } from '../../../platform/database/orm.ts';
import { invitations, organizations } from '../tables.ts';

export type InvitationRow = typeof invitations.$inferSelect;

/** Statements on invitations. */

export async function insertInvitation({ orm }: Transaction, row: InvitationRow): Promise<void> {
  await orm.insert(invitations).values(row);
}

/** The pending invitation for this address, expired or not. */
export async function findPendingByEmail(
  { orm }: Transaction,
  organizationId: string,
  email: string,
): Promise<InvitationRow | undefined> {
  const [row] = await orm
    .select()
    .from(invitations)
    .where(
      and(
        eq(invitations.organizationId, organizationId),
        sql`lower(${invitations.email}) = lower(${email})`,
        eq(invitations.status, 'pending'),
      ),
    );
  return row;
}

/** Locks the pending invitations of one inviter. */
export async function pendingFrom(
  { orm }: Transaction,
  organizationId: string,
  invitedById: string,
): Promise<InvitationRow[]> {
  const isFrom = and(eq(invitations.organizationId, organizationId), eq(invitations.invitedById, invitedById));
  return orm
    .select()
    .from(invitations)
    .where(and(isFrom, eq(invitations.status, 'pending')))
    .orderBy(invitations.id)
    .for('update');
}

/** Removes invitations that ended long ago; returns how many. */
export async function removeInvitationsBefore({ client }: Transaction, before: Date, limit: number): Promise<number> {
  const { rowCount } = await client.query(
    `delete from invitations where ctid = any(array(select ctid from invitations where expires_at < $1 limit $2))`,
    [before, limit],
  );
  return rowCount ?? 0;
}

export async function lockInvitation(
  { orm }: Transaction,
  organizationId: string,
  invitationId: string,
): Promise<InvitationRow | undefined> {
  const [row] = await orm
    .select()
    .from(invitations)
    .where(and(eq(invitations.organizationId, organizationId), eq(invitations.id, invitationId)))
    .for('update');
  return row;
}

export async function changeInvitation(
  { orm }: Transaction,
  organizationId: string,
  invitationId: string,
  change: Partial<InvitationRow>,
): Promise<void> {
  await orm
    .update(invitations)
    .set(change)
    .where(and(eq(invitations.organizationId, organizationId), eq(invitations.id, invitationId)));
}

/** Invitations that can still be accepted, newest first. */
export async function listPending(
  { orm }: Transaction,
  organizationId: string,
  now: Date,
  before: string | undefined,
  limit: number,
): Promise<InvitationRow[]> {
  return orm
    .select()
    .from(invitations)
    .where(
      and(
        eq(invitations.organizationId, organizationId),
        eq(invitations.status, 'pending'),
        gt(invitations.expiresAt, now),
        before === undefined ? undefined : lt(invitations.id, before),
      ),
    )
    .orderBy(desc(invitations.id))
    .limit(limit);
}

export interface InvitationAddress {
  id: string;
  organizationId: string;
}

/**
 * Finds the invitation of a token. Reads across tenants: the invitee is in none of them yet. Only the token's hash is
 * looked up.
 */
export async function findByToken({ orm }: Transaction, tokenHash: string): Promise<InvitationAddress | undefined> {
  const [row] = await orm
    .select({ id: invitations.id, organizationId: invitations.organizationId })
    .from(invitations)
    .where(eq(invitations.tokenHash, tokenHash));
  return row;
}

/** Whether this person has an open invitation anywhere; needs a system transaction. */
export async function isInvited({ orm }: Transaction, email: string, now: Date): Promise<boolean> {
  const [found] = await orm
    .select({ id: invitations.id })
    .from(invitations)
    .innerJoin(organizations, eq(organizations.id, invitations.organizationId))
    .where(
      and(
        eq(sql`lower(${invitations.email})`, email.toLowerCase()),
        eq(invitations.status, 'pending'),
        gt(invitations.expiresAt, now),
        isNull(organizations.deletedAt),
      ),
    )
    .limit(1);
  return found !== undefined;
}
