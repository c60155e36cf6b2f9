import { notificationEvents, type Role } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { addressesOutside, emailsOfAdmins, findMember, findOwner } from './members/member-store.ts';
import { findOrganization, lockOrganization } from './organization-store.ts';

/** What other modules ask about organizations. */

/**
 * Undefined for a person who is not a member, and in a deleted organization. Stays valid until the transaction ends.
 */
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

/** The destination of backups that name none. */
export const defaultStorage = {
  get: async (transaction: Transaction, organizationId: string): Promise<string | null> =>
    (await findOrganization(transaction, organizationId))?.defaultStorageId ?? null,
};

export interface Recipients {
  organizationName: string;
  slug: string;
  emails: string[];
  /** Addresses that belong to no member: nobody has proven that they want these mails. */
  outside: readonly string[];
  /** Owners and admins, whatever the settings say. */
  admins: readonly string[];
  /** Whose quota counts mails to addresses outside the organization. */
  ownerId: string;
  events: readonly string[];
}

/** Who gets mails about troubles; undefined while the organization is deleted. */
export async function recipientsOf(transaction: Transaction, organizationId: string): Promise<Recipients | undefined> {
  const row = await findOrganization(transaction, organizationId);
  if (!row) return undefined;
  const { userId: ownerId } = await findOwner(transaction, organizationId);
  const organization = { organizationName: row.name, slug: row.slug, ownerId };
  const admins = await emailsOfAdmins(transaction, organizationId);
  if (!row.notifications) return { ...organization, emails: admins, outside: [], admins, events: notificationEvents };
  const outside = await addressesOutside(transaction, organizationId, row.notifications.emails);
  return { ...organization, ...row.notifications, outside, admins };
}

/** What a job needs to know of its organization; undefined while it is deleted. */
export async function activeOrganization(
  transaction: Transaction,
  organizationId: string,
): Promise<{ id: string; name: string; defaultStorageId: string | null } | undefined> {
  const row = await findOrganization(transaction, organizationId);
  return row && { id: row.id, name: row.name, defaultStorageId: row.defaultStorageId };
}
