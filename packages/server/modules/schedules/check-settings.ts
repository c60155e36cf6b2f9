import type { Transaction } from '../../platform/database/database.ts';
import { invalid } from '../../platform/problem.ts';
import { storageStore } from '../storage/index.ts';
import { CronError, type CronExpression, parseCron } from './cron/cron-expression.ts';
import { nextRun } from './cron/next-run.ts';
import type { NewSchedule } from './schedule-store.ts';

/** Incremental schedules take a full backup once a week of daily runs unless they say otherwise. */
export const fullEveryDefault = 7;

export function requireCron(text: string): CronExpression {
  try {
    return parseCron(text);
  } catch (error) {
    if (error instanceof CronError) throw invalid('cron', error.message);
    throw error;
  }
}

/** Null for a disabled schedule, and for one that never runs. */
export function firstRun(
  { enabled, cron, timezone }: { enabled: boolean; cron: string; timezone: string },
  now: Date,
): Date | null {
  const expression = requireCron(cron);
  return enabled ? (nextRun(expression, timezone, now) ?? null) : null;
}

/** Each must exist; one that is failing at present may still be meant. */
export async function requireDestinations(
  transaction: Transaction,
  organizationId: string,
  ids: readonly string[],
): Promise<string[]> {
  const unique = [...new Set(ids)];
  for (const id of unique) await storageStore.hold(transaction, organizationId, id);
  return unique;
}

/** As for a backup: collections can be excluded only from all collections. */
export function requireExclusions({
  collections,
  excludeCollections,
}: Pick<NewSchedule, 'collections' | 'excludeCollections'>): void {
  if (excludeCollections.length > 0 && collections[0] !== '*')
    throw invalid('excludeCollections', 'can only be left out of *');
}
