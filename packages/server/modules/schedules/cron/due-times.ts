import { hourMs, later, minuteMs } from '../../../platform/durations.ts';
import type { CronExpression } from './cron-expression.ts';
import { nextRun } from './next-run.ts';

/** A yearly schedule of a leap day is due every eight years at the worst. */
const lookBackMsMax = 9 * 366 * 24 * hourMs;

/** The newest due times up to an instant, newest first; fewer when there were none. */
export function lastDueTimes(expression: CronExpression, timezone: string, until: Date, count: number): Date[] {
  return newestDueTimes(expression, timezone, { after: later(until, -lookBackMsMax), until }, count);
}

/**
 * The newest due times behind one instant and up to another, newest first. Takes a few steps for each of them, however many
 * there are: every minute of January, looked for in November, is 45,000 due times a year.
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
    // The one before it mostly lies as far away as this one from the one behind it.
    const behind = found.at(-1);
    if (behind) windowMs = Math.max(2 * minuteMs, 2 * (behind.getTime() - due.getTime()));
    found.push(due);
    before = later(due, -1);
  }
  return found;
}

/** Halves the time in which a newer one may lie, until there is none. */
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
