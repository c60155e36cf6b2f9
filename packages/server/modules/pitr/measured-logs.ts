import type { Transaction } from '../../platform/database/database.ts';
import { coverageOfLog, lastReachable } from './coverage.ts';
import { type LogKey, type MeasuredLog, pitrStore } from './pitr-store.ts';

export interface ReachedLog extends LogKey {
  readonly startedFrom: string;
  /** The newest reachable instant; null without one. */
  readonly reachedThrough: string | null;
}

/**
 * The newest reachable instant of each running capture, for the metrics. Captured time without a base is useless,
 * however new it is. One query answers most logs; the others are examined one by one.
 */
export async function measuredLogs(transaction: Transaction, limit: number): Promise<ReachedLog[]> {
  const logs: ReachedLog[] = [];
  for (const log of await pitrStore.measured(transaction, limit)) {
    const { organizationId, projectId, startedFrom } = log;
    const reachedThrough = log.isReached ? log.coveredThrough : await reachedOf(transaction, log);
    logs.push({ organizationId, projectId, startedFrom, reachedThrough });
  }
  return logs;
}

async function reachedOf(transaction: Transaction, { organizationId, projectId }: MeasuredLog): Promise<string | null> {
  const row = await pitrStore.find(transaction, organizationId, projectId);
  return row ? lastReachable(row.coveredThrough, await coverageOfLog(transaction, row)) : null;
}
