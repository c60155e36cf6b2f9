import type { Transaction } from '../../../platform/database/database.ts';
import { tenantTables } from '../../../platform/database/tenant-tables.ts';

type Client = Transaction['client'];

/** Jobs of the organization that nobody works on. */
export async function removeWaitingJobs({ client }: Transaction, organizationId: string): Promise<void> {
  await client.query(`delete from pgboss.job where data->>'organizationId' = $1 and state < 'active'`, [
    organizationId,
  ]);
}

/** So many rows go within the time that a statement may take, however slow the disk is. */
const portionRows = 10_000;

/** Every row of the organization in every table, its own row last. Tells how many went from which table. */
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

/** Years of audit rows or deliveries would take one statement longer than any may take. */
async function removeFrom(client: Client, table: string, organizationId: string): Promise<number> {
  const own = `from ${table} where organization_id = $1`;
  const { rowCount: isLarge } = await client.query(`select 1 ${own} offset ${portionRows} limit 1`, [organizationId]);
  if (!isLarge) return (await client.query(`delete ${own}`, [organizationId])).rowCount ?? 0;
  let removed = 0;
  for (let isComplete = false; !isComplete; ) {
    const { found, gone } = await removePortions(client, table, organizationId);
    removed += gone;
    // A row that somebody changed meanwhile lies elsewhere by now.
    isComplete = gone === found || gone === 0;
  }
  return removed;
}

/** A cursor goes on behind what it has shown; asking anew would pass over all that this transaction has deleted. */
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
