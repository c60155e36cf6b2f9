import { instantFromDate } from '@holdfast/engine';
import { dayMs } from '../../../platform/durations.ts';
import type { LogRow } from '../pitr-store.ts';

/** By the database's time while capture runs: a clock of ours that runs ahead, or a capture that stands still, takes nothing. */
export function retainedFrom({ retentionDays, enabled, coveredThrough }: LogRow, now: Date): string {
  const endMs = enabled ? Math.min(now.getTime(), Date.parse(coveredThrough)) : now.getTime();
  return instantFromDate(new Date(endMs - retentionDays * dayMs));
}
