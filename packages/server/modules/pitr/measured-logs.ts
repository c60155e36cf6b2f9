import type { Transaction } from '../../platform/database/database.ts';
import { coverageOfLog, lastReachable } from './coverage.ts';
import { type LogKey, type MeasuredLog, pitrStore } from './pitr-store.ts';

export interface ReachedLog extends LogKey {
  readonly startedFrom: string;
  /** The newest instant that one can go back to; null while there is none. */
  readonly reachedThrough: string | null;
}

/**
 * How far each running capture can be gone back to, for the metrics. What is captured and leads on from no base is worth
 * nothing, however new it is. Most logs are told by one query; the rest are looked at one by one.
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
