import type { Transaction } from '../../../platform/database/database.ts';
import { tenantTables } from '../../../platform/database/tenant-tables.ts';

type Client = Transaction['client'];

/** Removes the organization's jobs that no worker has. */
export async function removeWaitingJobs({ client }: Transaction, organizationId: string): Promise<void> {
  await client.query(`delete from pgboss.job where data->>'organizationId' = $1 and state < 'active'`, [
    organizationId,
  ]);
}

/** This many rows are deleted within the statement timeout, also on a slow disk. */
const portionRows = 10_000;

/** Deletes every row of the organization in every table, its own row last. Returns the number of rows per table. */
export async function removeEverything(
  { client }: Transaction,
  organizationId: string,
): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  for (const table of await tenantTables(client)) {
    const count = await removeFrom(client, table, organizationId);
    if (count > 0) removed[table] = count;
  }
  await client.query('delete from idempotency_keys where scope = $1', [organizationId]);
  await client.query('delete from organizations where id = $1', [organizationId]);
  return removed;
}

/** Years of audit rows or deliveries cannot be deleted within one statement timeout. */
async function removeFrom(client: Client, table: string, organizationId: string): Promise<number> {
  const own = `from ${table} where organization_id = $1`;
  const { rowCount: isLarge } = await client.query(`select 1 ${own} offset ${portionRows} limit 1`, [organizationId]);
  if (!isLarge) return (await client.query(`delete ${own}`, [organizationId])).rowCount ?? 0;
  let removed = 0;
  for (let isComplete = false; !isComplete; ) {
    const { found, gone } = await removePortions(client, table, organizationId);
    removed += gone;
    // A row that was changed meanwhile has moved to another place.
    isComplete = gone === found || gone === 0;
  }
  return removed;
}

/**
 * A cursor continues behind the rows it has read; a new query would scan all rows that this transaction has deleted.
 */
async function removePortions(client: Client, table: string, organizationId: string) {
  const counts = { found: 0, gone: 0 };
  const select = `select ctid from ${table} where organization_id = $1`;
  await client.query(`declare purged no scroll cursor for ${select}`, [organizationId]);
  for (let portion = portionRows; portion === portionRows; ) {
    const { rows } = await client.query<{ ctid: string }>(`fetch ${portionRows} from purged`);
    const places = rows.map(({ ctid }) => ctid);
    const { rowCount } = await client.query(`delete from ${table} where ctid = any($1::tid[])`, [places]);
    portion = rows.length;
    counts.found += portion;
    counts.gone += rowCount ?? 0;
  }
  await client.query('close purged');
  return counts;
}
