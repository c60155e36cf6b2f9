import { hourMs, later, minuteMs } from '../../../platform/durations.ts';
import type { CronExpression } from './cron-expression.ts';
import { nextRun } from './next-run.ts';

/** A schedule on the 29th of February may be due only every eight years. */
const lookBackMsMax = 9 * 366 * 24 * hourMs;

/** The newest due times up to an instant, newest first; fewer if there are not so many. */
export function lastDueTimes(expression: CronExpression, timezone: string, until: Date, count: number): Date[] {
  return newestDueTimes(expression, timezone, { after: later(until, -lookBackMsMax), until }, count);
}

/**
 * The newest due times after one instant and up to another, newest first. Takes only a few steps for each: a schedule
 * for every minute of January has 45,000 due times a year, and may be asked in November.
 */
export function newestDueTimes(
  expression: CronExpression,
  timezone: string,
  { after, until }: { after: Date; until: Date },
  count: number,
): Date[] {
  const found: Date[] = [];
  let windowMs = 4 * hourMs;
  for (let before = until; found.length < count && before > after; ) {
    const from = new Date(Math.max(after.getTime(), before.getTime() - windowMs));
    const due = newestBetween(expression, timezone, from, before);
    if (due === undefined) {
      if (from <= after) break;
      windowMs *= 6;
      continue;
    }
    // The previous due time is usually as far away as the one found before this.
    const behind = found.at(-1);
    if (behind) windowMs = Math.max(2 * minuteMs, 2 * (behind.getTime() - due.getTime()));
    found.push(due);
    before = later(due, -1);
  }
  return found;
}

/** Binary search for the newest due time. */
function newestBetween(expression: CronExpression, timezone: string, after: Date, until: Date): Date | undefined {
  const firstBehind = (instant: Date) => {
    const due = nextRun(expression, timezone, instant);
    return due && due <= until ? due : undefined;
  };
  let found = firstBehind(after);
  let end = until;
  for (let next = found; next !== undefined; next = firstBehind(found)) {
    found = next;
    const middle = new Date(Math.floor((found.getTime() + end.getTime()) / 2));
    const newer = firstBehind(middle);
    if (newer) found = newer;
    else end = middle;
  }
  return found;
}
