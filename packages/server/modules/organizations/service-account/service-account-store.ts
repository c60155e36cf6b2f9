import type { Transaction } from '../../../platform/database/database.ts';
import { eq, sql } from '../../../platform/database/orm.ts';
import { serviceAccounts } from '../tables.ts';

export type ServiceAccountRow = typeof serviceAccounts.$inferSelect;

/** Statements on service accounts; an organization has at most one. */

export async function insertServiceAccount({ orm }: Transaction, row: ServiceAccountRow): Promise<void> {
  await orm.insert(serviceAccounts).values(row);
}

export async function findServiceAccount(
  { orm }: Transaction,
  organizationId: string,
): Promise<ServiceAccountRow | undefined> {
  const [row] = await orm.select().from(serviceAccounts).where(eq(serviceAccounts.organizationId, organizationId));
  return row;
}

export async function changeServiceAccount(
  { orm }: Transaction,
  organizationId: string,
  now: Date,
  change: Partial<ServiceAccountRow>,
): Promise<void> {
  await orm
    .update(serviceAccounts)
    .set({ ...change, updatedAt: now, version: sql`${serviceAccounts.version} + 1` })
    .where(eq(serviceAccounts.organizationId, organizationId));
}

export async function removeServiceAccount({ orm }: Transaction, organizationId: string): Promise<void> {
  await orm.delete(serviceAccounts).where(eq(serviceAccounts.organizationId, organizationId));
}

/** Skips a row that was noted since `before`, or that is locked. */
export async function noteUse(
  { client }: Transaction,
  organizationId: string,
  id: string,
  { now, before }: { now: Date; before: Date },
): Promise<void> {
  await client.query(
    `update service_accounts set last_used_at = $1 where ctid in (
       select ctid from service_accounts where organization_id = $2 and id = $3 and (last_used_at is null or last_used_at <= $4) for update skip locked)`,
    [now, organizationId, id, before],
  );
}
