import type { Transaction } from '../../../platform/database/database.ts';
import { and, asc, eq, inArray, sql } from '../../../platform/database/orm.ts';
import { holdLock } from '../../../platform/database/transaction-statements.ts';
import { users } from '../../auth/index.ts';
import { memberships, type Role } from '../tables.ts';

export interface MemberRow {
  userId: string;
  email: string;
  name: string;
  picture: string | null;
  role: Role;
  joinedAt: Date;
  lastActiveAt: Date;
  updatedAt: Date;
}

/** Statements on memberships, with the people behind them. */

const columns = {
  userId: memberships.userId,
  email: users.email,
  name: users.name,
  picture: users.picture,
  role: memberships.role,
  joinedAt: memberships.joinedAt,
  lastActiveAt: memberships.lastActiveAt,
  updatedAt: memberships.updatedAt,
};

/** A person's role in an organization. */
interface Membership {
  organizationId: string;
  userId: string;
  role: Role;
}

export async function insertMember({ orm }: Transaction, membership: Membership, now: Date): Promise<void> {
  await orm.insert(memberships).values({ ...membership, joinedAt: now, lastActiveAt: now, updatedAt: now });
}

export async function findMember(
  { orm }: Transaction,
  organizationId: string,
  userId: string,
): Promise<MemberRow | undefined> {
  const [row] = await orm
    .select(columns)
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)));
  return row;
}

export async function emailsOfAdmins({ orm }: Transaction, organizationId: string): Promise<string[]> {
  const rows = await orm
    .select({ email: users.email })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), inArray(memberships.role, ['owner', 'admin'])))
    .orderBy(asc(users.email))
    .limit(100);
  return rows.map(({ email }) => email);
}

/** The given addresses that belong to no member. */
export async function addressesOutside(
  { orm }: Transaction,
  organizationId: string,
  addresses: readonly string[],
): Promise<string[]> {
  const address = sql<string>`lower(${users.email})`;
  const rows = await orm
    .select({ address })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(
      and(
        eq(memberships.organizationId, organizationId),
        inArray(
          address,
          addresses.map((one) => one.toLowerCase()),
        ),
      ),
    );
  const known = new Set(rows.map((row) => row.address));
  return addresses.filter((one) => !known.has(one.toLowerCase()));
}

export async function findOwner({ orm }: Transaction, organizationId: string): Promise<MemberRow> {
  const [row] = await orm
    .select(columns)
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.role, 'owner')));
  if (!row) throw new Error('an organization has no owner');
  return row;
}

export async function isMemberByEmail({ orm }: Transaction, organizationId: string, email: string): Promise<boolean> {
  const [row] = await orm
    .select({ userId: memberships.userId })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), sql`lower(${users.email}) = lower(${email})`))
    .limit(1);
  return row !== undefined;
}

export interface JoinPosition {
  joinedAt: Date;
  userId: string;
}

/** In the order they joined. */
export async function listMembers(
  { orm }: Transaction,
  organizationId: string,
  after: JoinPosition | undefined,
  limit: number,
): Promise<MemberRow[]> {
  const behind = after
    ? sql`(${memberships.joinedAt}, ${memberships.userId}) > (${after.joinedAt.toISOString()}::timestamptz, ${after.userId})`
    : undefined;
  return orm
    .select(columns)
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.userId))
    .where(and(eq(memberships.organizationId, organizationId), behind))
    .orderBy(asc(memberships.joinedAt), asc(memberships.userId))
    .limit(limit);
}

export async function setRole({ orm }: Transaction, membership: Membership, now: Date): Promise<void> {
  const { organizationId, userId, role } = membership;
  await orm
    .update(memberships)
    .set({ role, updatedAt: now })
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)));
}

export async function deleteMember({ orm }: Transaction, organizationId: string, userId: string): Promise<void> {
  await orm
    .delete(memberships)
    .where(and(eq(memberships.organizationId, organizationId), eq(memberships.userId, userId)));
}

/**
 * Organizations a person owns, including deleted ones that can be recovered. Other calls for the same person wait until
 * the transaction ends.
 */
export async function countOwned(transaction: Transaction, userId: string): Promise<number> {
  await holdLock(transaction, 'founder', userId);
  return transaction.orm.$count(memberships, and(eq(memberships.userId, userId), eq(memberships.role, 'owner')));
}

/** Skips a row that was noted since `before`, or that is locked. */
export async function noteActivity(
  { client }: Transaction,
  organizationId: string,
  userId: string,
  { now, before }: { now: Date; before: Date },
): Promise<void> {
  await client.query(
    `update memberships set last_active_at = $1 where ctid in (
       select ctid from memberships where organization_id = $2 and user_id = $3 and last_active_at <= $4 for update skip locked)`,
    [now, organizationId, userId, before],
  );
}
