import type { Transaction } from '../../../platform/database/database.ts';
import { and, desc, isNotNull, isNull, lt } from '../../../platform/database/orm.ts';
import { holdLock } from '../../../platform/database/transaction-statements.ts';
import { signingKeys } from '../tables.ts';

export type SigningKeyRow = typeof signingKeys.$inferSelect;

/** Statements on the key pairs of access tokens. One of them signs; a retired one has no private half. */

/**
 * The key that signs, if there is one. The lock lets one process at a time create or replace it, until the transaction
 * ends.
 */
export async function lockCurrentKey(transaction: Transaction): Promise<{ createdAt: Date } | undefined> {
  await holdLock(transaction, 'signing key');
  const [current] = await transaction.orm
    .select({ createdAt: signingKeys.createdAt })
    .from(signingKeys)
    .where(isNull(signingKeys.retiredAt));
  return current;
}

export async function insertSigningKey({ orm }: Transaction, row: Omit<SigningKeyRow, 'retiredAt'>): Promise<void> {
  await orm.insert(signingKeys).values(row);
}

export async function retireCurrentKey({ orm }: Transaction, now: Date): Promise<void> {
  await orm.update(signingKeys).set({ retiredAt: now, privateJwk: null }).where(isNull(signingKeys.retiredAt));
}

/** Newest first. */
export function allSigningKeys({ orm }: Transaction): Promise<SigningKeyRow[]> {
  return orm.select().from(signingKeys).orderBy(desc(signingKeys.createdAt));
}

export async function removeRetiredKeys({ orm }: Transaction, retiredBefore: Date): Promise<void> {
  await orm.delete(signingKeys).where(and(isNotNull(signingKeys.retiredAt), lt(signingKeys.retiredAt, retiredBefore)));
}
