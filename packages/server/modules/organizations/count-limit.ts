import type { Transaction } from '../../platform/database/database.ts';
import { Problem } from '../../platform/problem.ts';
import { organizationNotFound } from './authorize-change.ts';
import { lockOrganization } from './organization-store.ts';

/** A limit on how many of something an organization may have. */
export interface CountLimit {
  /** The plural of what is limited, for messages. */
  readonly what: string;
  readonly limit: number;
  readonly count: (transaction: Transaction, organizationId: string) => Promise<number>;
}

/**
 * Refuses more than the operator allows. The organization stays locked until the transaction ends, so that concurrent
 * additions are counted one after the other. Call it before anything below the organization is locked.
 */
export async function requireBelowLimit(
  transaction: Transaction,
  organizationId: string,
  { what, limit, count }: CountLimit,
  { coming = 1, whose = 'The organization' } = {},
): Promise<void> {
  if (!(await lockOrganization(transaction, organizationId))) throw organizationNotFound();
  const there = await count(transaction, organizationId);
  if (there + coming <= limit) return;
  throw new Problem('LIMIT_REACHED', `${whose} has ${there} ${what}; more are not allowed here.`, {
    details: { limit },
  });
}

export function isLimitReached(error: unknown): error is Problem {
  return error instanceof Problem && error.code === 'LIMIT_REACHED';
}
