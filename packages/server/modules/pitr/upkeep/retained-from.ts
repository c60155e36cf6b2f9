import { instantFromDate } from '@holdfast/engine';
import { dayMs } from '../../../platform/durations.ts';
import type { LogRow } from '../pitr-store.ts';

/**
 * The oldest time that is kept. While capture runs, the database's time counts, so that a clock that runs ahead, or a
 * capture that is stuck, removes nothing. Days in which no catalogue knew of the log do not count: whoever finds a log
 * in a bucket has all its days to use it.
 */
export function retainedFrom({ retentionDays, enabled, coveredThrough, createdAt }: LogRow, now: Date): string {
  const endMs = Date.parse(coveredThrough);
  const unknownMs = Math.max(0, createdAt.getTime() - endMs);
  const reachedMs = enabled ? Math.min(now.getTime(), endMs) : now.getTime() - unknownMs;
  return instantFromDate(new Date(reachedMs - retentionDays * dayMs));
}
