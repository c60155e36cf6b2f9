import type { Plan } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import {
  and,
  asc,
  desc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  type Placeholder,
  sql,
} from '../../platform/database/orm.ts';
import { rowsWhere } from '../../platform/database/statement.ts';
import { memberships, organizations, purgedOrganizations, type Role } from './tables.ts';

export type OrganizationRow = typeof organizations.$inferSelect;

/** Statements on the organizations table. Changes begin with `lock`, so they come one after another. */

export async function insertOrganization(transaction: Transaction, row: OrganizationRow): Promise<void> {
  await transaction.orm.insert(organizations).values(row);
}

const undeleted = (organizationId: string | Placeholder) =>
  and(eq(organizations.id, organizationId), isNull(organizations.deletedAt));
const oneOrganization = rowsWhere(organizations, undeleted(sql.placeholder('id')));
const oneLocked = rowsWhere(organizations, undeleted(sql.placeholder('id')), { lock: 'no key update' });

export async function findOrganization({ client }: Transaction, id: string): Promise<OrganizationRow | undefined> {
  const [row] = await client.read(oneOrganization, { id });
  return row;
}

/** Locks it until the end of the transaction. References to the organization can still be added meanwhile. */
export async function lockOrganization({ client }: Transaction, id: string): Promise<OrganizationRow | undefined> {
  const [row] = await client.read(oneLocked, { id });
  return row;
}

/** Until the transaction ends, nobody changes the organization itself; others may hold it too. */
export async function holdOrganization({ orm }: Transaction, organizationId: string): Promise<boolean> {
  const rows = await orm
    .select({ id: organizations.id })
    .from(organizations)
    .where(undeleted(organizationId))
    .for('share');
  return rows.length > 0;
}

export async function lockDeletedOrganization(
  { orm }: Transaction,
  organizationId: string,
  now: Date,
): Promise<OrganizationRow | undefined> {
  const [row] = await orm
    .select()
    .from(organizations)
    .where(
      and(
        eq(organizations.id, organizationId),
        isNotNull(organizations.deletedAt),
        gt(organizations.recoveryDeadline, now),
      ),
    )
    .for('update');
  return row;
}

/** Locks it in any state, against everyone, before it is removed. */
export async function lockForPurge({ orm }: Transaction, organizationId: string): Promise<OrganizationRow | undefined> {
  const [row] = await orm.select().from(organizations).where(eq(organizations.id, organizationId)).for('update');
  return row;
}

/** In random order, so that organizations that cannot be purged do not block the others for ever. */
export async function listExpired({ orm }: Transaction, now: Date, limit: number): Promise<string[]> {
  const rows = await orm
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(isNotNull(organizations.deletedAt), lte(organizations.recoveryDeadline, now)))
    .orderBy(sql`random()`)
    .limit(limit);
  return rows.map((row) => row.id);
}

/** Every change of the row increments its version. */
export async function changeOrganization(
  { orm }: Transaction,
  organizationId: string,
  now: Date,
  change: Partial<OrganizationRow>,
): Promise<OrganizationRow> {
  const [row] = await orm
    .update(organizations)
    .set({ ...change, updatedAt: now, version: sql`${organizations.version} + 1` })
    .where(eq(organizations.id, organizationId))
    .returning();
  if (!row) throw new Error('an organization vanished while it was locked');
  return row;
}

export interface MembershipSummary {
  organization: OrganizationRow;
  role: Role;
}

/** One person's organizations, newest first. Reads across tenants, and only by the person's own id. */
export async function listOrganizationsOf(
  { orm }: Transaction,
  userId: string,
  before: string | undefined,
  limit: number,
): Promise<MembershipSummary[]> {
  return orm
    .select({ organization: organizations, role: memberships.role })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(
      and(
        eq(memberships.userId, userId),
        isNull(organizations.deletedAt),
        before === undefined ? undefined : lt(organizations.id, before),
      ),
    )
    .orderBy(desc(organizations.id))
    .limit(limit);
}

/** Organizations that a person owned and can still recover, newest first. */
export async function listRecoverableOf(
  { orm }: Transaction,
  userId: string,
  now: Date,
  before: string | undefined,
  limit: number,
): Promise<OrganizationRow[]> {
  const rows = await orm
    .select({ organization: organizations })
    .from(memberships)
    .innerJoin(organizations, eq(organizations.id, memberships.organizationId))
    .where(
      and(
        eq(memberships.userId, userId),
        eq(memberships.role, 'owner'),
        isNotNull(organizations.deletedAt),
        gt(organizations.recoveryDeadline, now),
        before === undefined ? undefined : lt(organizations.id, before),
      ),
    )
    .orderBy(desc(organizations.id))
    .limit(limit);
  return rows.map(({ organization }) => organization);
}

export async function countMembers(
  { orm }: Transaction,
  organizationIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (organizationIds.length === 0) return new Map();
  const rows = await orm
    .select({ id: memberships.organizationId, count: sql<number>`count(*)::int` })
    .from(memberships)
    .where(inArray(memberships.organizationId, [...organizationIds]))
    .groupBy(memberships.organizationId);
  return new Map(rows.map((row) => [row.id, row.count]));
}

/** A SQL condition for other modules: the organization in this column is not deleted, so work may run for it. */
export function isActiveOrganizationSql(column: string): string {
  return `exists (select 1 from organizations o where o.id = ${column} and o.deleted_at is null)`;
}

/** A SQL condition: the destination in this column is the default of an organization that is not deleted. */
export function isDefaultStorageSql(column: string): string {
  return `exists (select 1 from organizations o where o.default_storage_id = ${column} and o.deleted_at is null)`;
}

/** Records the purge: from now on the organization's keys are destroyed. */
export async function rememberPurged({ orm }: Transaction, id: string, purgedAt: Date): Promise<void> {
  await orm.insert(purgedOrganizations).values({ id, purgedAt }).onConflictDoNothing();
}

/** Whether the id is in use here (also soft-deleted) or was purged here; needs a system transaction. */
export async function isTaken({ orm }: Transaction, id: string): Promise<boolean> {
  const living = await orm.select({ id: organizations.id }).from(organizations).where(eq(organizations.id, id));
  const purged = await orm.select().from(purgedOrganizations).where(eq(purgedOrganizations.id, id));
  return living.length + purged.length > 0;
}

/** A kit that was taken before does not contain a new key, so the owner is reminded again. */
export async function outdateRecoveryKit(transaction: Transaction, organizationId: string, now: Date): Promise<void> {
  await changeOrganization(transaction, organizationId, now, { recoveryKitTakenAt: null });
}

/** Organizations whose owner has no recovery kit with every key; needs a system transaction. */
export async function withoutRecoveryKit({ orm }: Transaction, limit: number): Promise<{ id: string; name: string }[]> {
  return orm
    .select({ id: organizations.id, name: organizations.name })
    .from(organizations)
    .where(and(isNull(organizations.deletedAt), isNull(organizations.recoveryKitTakenAt)))
    .limit(limit);
}

/** Includes soft-deleted organizations; undefined once it is purged. */
export async function planOf({ orm }: Transaction, organizationId: string): Promise<Plan | undefined> {
  const [row] = await orm
    .select({ plan: organizations.plan })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  return row?.plan;
}

/**
 * One person's organizations ordered by id; needs a system transaction. With `hold` none of them can be purged before
 * the transaction ends, so rows written for them keep their organization.
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

/** Whether any organization exists, deleted ones included; needs a system transaction. */
export async function organizationsExist({ orm }: Transaction): Promise<boolean> {
  return (await orm.select({ id: organizations.id }).from(organizations).limit(1)).length > 0;
}

/** The given organizations that are not deleted; the transaction may span organizations. */
export async function activeOrganizations({ orm }: Transaction, ids: readonly string[]) {
  const { id, name, timezone, defaultStorageId } = organizations;
  const rows = await orm
    .select({ id, name, timezone, defaultStorageId })
    .from(organizations)
    .where(and(inArray(organizations.id, [...ids]), isNull(organizations.deletedAt)));
  return new Map(rows.map((row) => [row.id, row]));
}

/** Whether backups of some organization go to one of these destinations when they name none. */
/** Ids of organizations that are not deleted, in order; needs a system transaction. */
export async function activeIdsAfter({ orm }: Transaction, after: string, limit: number): Promise<string[]> {
  const rows = await orm
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(isNull(organizations.deletedAt), gt(organizations.id, after)))
    .orderBy(organizations.id)
    .limit(limit);
  return rows.map(({ id }) => id);
}
