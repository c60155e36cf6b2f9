import type { Transaction } from '../../../platform/database/database.ts';
import { and, eq, gt } from '../../../platform/database/orm.ts';
import { signInFlows } from '../tables.ts';

export type SignInFlowRow = typeof signInFlows.$inferSelect;

export async function insertFlow({ orm }: Transaction, row: SignInFlowRow): Promise<void> {
  await orm.insert(signInFlows).values(row);
}

/** Undefined when it is unknown or expired. */
export async function lockFlow({ orm }: Transaction, stateHash: string, now: Date): Promise<SignInFlowRow | undefined> {
  const [row] = await orm
    .select()
    .from(signInFlows)
    .where(and(eq(signInFlows.stateHash, stateHash), gt(signInFlows.expiresAt, now)))
    .for('update');
  return row;
}

export async function removeFlow({ orm }: Transaction, stateHash: string): Promise<void> {
  await orm.delete(signInFlows).where(eq(signInFlows.stateHash, stateHash));
}
