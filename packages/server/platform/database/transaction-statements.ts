import type { Transaction } from './database.ts';

/** Statements that concern a transaction as a whole and no table. */

/** Whoever listens on the channel is told when the transaction commits, and not at all if it does not. */
export async function notify({ client }: Transaction, channel: string): Promise<void> {
  await client.query(`notify ${channel}`);
}

/** Everything the transaction reads from here on is of one instant. Comes before its first read. */
export async function readOneSnapshot({ client }: Transaction): Promise<void> {
  await client.query('set transaction isolation level repeatable read');
}

/** Waits until nobody else holds the lock of this name, and holds it until the transaction ends. */
export async function holdLock({ client }: Transaction, kind: string, name = ''): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtext($1), hashtext($2))', [`holdfast ${kind}`, name]);
}
