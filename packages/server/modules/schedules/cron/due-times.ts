import { hourMs, later } from '../../../platform/durations.ts';
import type { CronExpression } from './cron-expression.ts';
import { nextRun } from './next-run.ts';

/** A yearly schedule of a leap day is due every eight years at the worst. */
const lookBackMsMax = 9 * 366 * 24 * hourMs;

/** The newest due times up to an instant, newest first; fewer when there were none. */
export function lastDueTimes(expression: CronExpression, timezone: string, until: Date, count: number): Date[] {
  for (let backMs = 4 * hourMs; ; backMs *= 6) {
    const found = dueTimesBetween(expression, timezone, later(until, -Math.min(backMs, lookBackMsMax)), until);
    if (found.length >= count || backMs >= lookBackMsMax) return found.slice(-count).reverse();
  }
}

function dueTimesBetween(expression: CronExpression, timezone: string, after: Date, until: Date): Date[] {
  const found: Date[] = [];
  for (let due = nextRun(expression, timezone, after); due && due <= until; due = nextRun(expression, timezone, due))
    found.push(due);
  return found;
}
