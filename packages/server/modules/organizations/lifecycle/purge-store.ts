import type { Transaction } from '../../../platform/database/database.ts';
import { tenantTables } from '../../../platform/database/tenant-tables.ts';

/** Jobs of the organization that nobody works on. */
export async function removeWaitingJobs({ client }: Transaction, organizationId: string): Promise<void> {
  await client.query(`delete from pgboss.job where data->>'organizationId' = $1 and state < 'active'`, [
    organizationId,
  ]);
}

/** Every row of the organization in every table, its own row last. Tells how many went from which table. */
export async function removeEverything(
  { client }: Transaction,
  organizationId: string,
): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  for (const table of await tenantTables(client)) {
    const { rowCount } = await client.query(`delete from ${table} where organization_id = $1`, [organizationId]);
    if (rowCount) removed[table] = rowCount;
  }
  await client.query('delete from idempotency_keys where scope = $1', [organizationId]);
  await client.query('delete from organizations where id = $1', [organizationId]);
  return removed;
}
