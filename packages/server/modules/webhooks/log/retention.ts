import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';

const dayMs = 86_400_000;
/** How long the delivery log goes back. */
export const deliveryRetentionDays = 30;
const batchSize = 2000;

/** Removes deliveries older than the log goes back, and then their events, in small bites. */
export async function removeOldDeliveries(database: Database, clock: Clock, signal: AbortSignal): Promise<void> {
  const cut = new Date(clock.now().getTime() - deliveryRetentionDays * dayMs);
  await inBites(database, signal, deliveriesStatement, cut);
  await inBites(database, signal, eventsStatement, cut);
}

const deliveriesStatement = `
  delete from webhook_deliveries where id in (select id from webhook_deliveries where created_at < $1 limit ${batchSize})`;

/** An event outlives its deliveries, because retries read it. */
const eventsStatement = `
  delete from outbox_events where id in (
    select id from outbox_events e where created_at < $1 and dispatched_at is not null
       and not exists (select 1 from webhook_deliveries d where d.event_id = e.id) limit ${batchSize})`;

async function inBites(database: Database, signal: AbortSignal, statement: string, cut: Date): Promise<void> {
  let removed = batchSize;
  while (removed === batchSize && !signal.aborted) {
    removed = await database.system(async ({ client }) => (await client.query(statement, [cut])).rowCount ?? 0);
  }
}
