import type { Transaction } from './database.ts';

/** Statements that concern a transaction as a whole and no table. */

/** Notifies the listeners of the channel when the transaction commits, and only then. */
export async function notify({ client }: Transaction, channel: string): Promise<void> {
  await client.query(`notify ${channel}`);
}

/** All later reads of the transaction see the same snapshot. Must come before its first read. */
export async function readOneSnapshot({ client }: Transaction): Promise<void> {
  await client.query('set transaction isolation level repeatable read');
}

/** Waits for the lock of this name and holds it until the transaction ends. */
export async function holdLock({ client }: Transaction, kind: string, name = ''): Promise<void> {
  await client.query('select pg_advisory_xact_lock(hashtext($1), hashtext($2))', [`holdfast ${kind}`, name]);
}
