import { notificationEvents, type Plan, type Role } from '@holdfast/contract';
import { and, asc, eq, inArray, isNull } from 'drizzle-orm';
import type { Transaction } from '../../platform/database/database.ts';
import { emailsOfAdmins, findMember } from './members/member-store.ts';
import { changeOrganization, findOrganization, lockOrganization } from './organization-store.ts';
import { memberships, organizations } from './tables.ts';

/** What other modules ask about organizations. */

/** Also of an organization that can still be recovered; undefined once it is purged. */
export async function planOf({ orm }: Transaction, organizationId: string): Promise<Plan | undefined> {
  const [row] = await orm
    .select({ plan: organizations.plan })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  return row?.plan;
}

/** Undefined for a person who is no member, and in an organization that is deleted. Stays true until the transaction ends. */
export async function roleUnderLock(
  transaction: Transaction,
  organizationId: string,
  userId: string,
): Promise<Role | undefined> {
  if (!(await lockOrganization(transaction, organizationId))) return undefined;
  return (await findMember(transaction, organizationId, userId))?.role;
}

export async function isActive(transaction: Transaction, organizationId: string): Promise<boolean> {
  return (await findOrganization(transaction, organizationId)) !== undefined;
}

/**
 * One person's organizations in the order of their ids; needs a system transaction. With `hold` none of them can be
 * purged before the transaction ends, so rows written for them belong to something.
 */
export async function membershipsOf(
  { orm }: Transaction,
  userId: string,
  options: { hold: boolean },
): Promise<{ id: string; name: string; role: Role }[]> {
  const query = orm
    .select({ id: organizations.id, name: organizations.name, role: memberships.role })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(and(eq(memberships.userId, userId), isNull(organizations.deletedAt)))
    .orderBy(asc(organizations.id));
  return options.hold ? query.for('key share', { of: organizations }) : query;
}

/** Whether the installation has any, deleted ones included; needs a system transaction. */
export async function organizationsExist({ orm }: Transaction): Promise<boolean> {
  return (await orm.select({ id: organizations.id }).from(organizations).limit(1)).length > 0;
}

/** Where backups go that name no destination. */
export const defaultStorage = {
  get: async (transaction: Transaction, organizationId: string): Promise<string | null> =>
    (await findOrganization(transaction, organizationId))?.defaultStorageId ?? null,
  set: async (
    transaction: Transaction,
    organizationId: string,
    destinationId: string | null,
    now: Date,
  ): Promise<void> => {
    await changeOrganization(transaction, organizationId, now, { defaultStorageId: destinationId });
  },
  isAny: async ({ orm }: Transaction, destinationIds: readonly string[]): Promise<boolean> => {
    if (destinationIds.length === 0) return false;
    const rows = await orm
      .select({ id: organizations.id })
      .from(organizations)
      .where(and(inArray(organizations.defaultStorageId, [...destinationIds]), isNull(organizations.deletedAt)))
      .limit(1);
    return rows.length > 0;
  },
};

/** Who is told by mail of what goes wrong; undefined while the organization is deleted. */
export async function recipientsOf(
  transaction: Transaction,
  organizationId: string,
): Promise<{ organizationName: string; emails: string[]; events: readonly string[] } | undefined> {
  const row = await findOrganization(transaction, organizationId);
  if (!row) return undefined;
  if (row.notifications) return { organizationName: row.name, ...row.notifications };
  const emails = await emailsOfAdmins(transaction, organizationId);
  return { organizationName: row.name, emails, events: notificationEvents };
}

/** Those of the organizations that are not deleted; the transaction may span them. */
export async function activeOrganizations({ orm }: Transaction, ids: readonly string[]) {
  const { id, name, timezone, defaultStorageId } = organizations;
  const rows = await orm
    .select({ id, name, timezone, defaultStorageId })
    .from(organizations)
    .where(and(inArray(organizations.id, [...ids]), isNull(organizations.deletedAt)));
  return new Map(rows.map((row) => [row.id, row]));
}

/** What a job needs to know of the organization it works for; undefined while it is deleted. */
export async function activeOrganization(
  transaction: Transaction,
  organizationId: string,
): Promise<{ id: string; name: string; defaultStorageId: string | null } | undefined> {
  const row = await findOrganization(transaction, organizationId);
  return row && { id: row.id, name: row.name, defaultStorageId: row.defaultStorageId };
}
