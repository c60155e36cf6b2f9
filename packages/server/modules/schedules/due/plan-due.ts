import { later, minuteMs } from '../../../platform/durations.ts';
import { type CronExpression, parseCron } from '../cron/cron-expression.ts';
import { newestDueTimes } from '../cron/due-times.ts';
import { nextRun } from '../cron/next-run.ts';

/** How many missed runs of an outage are recorded one by one. */
const missedListedMax = 10;

export interface DueSchedule {
  cron: string;
  timezone: string;
  nextRunAt: Date;
  catchUp: 'latest' | 'skip';
  missedAfterMinutes: number;
}

export interface DuePlan {
  /** The due time that starts a backup now. */
  trigger: Date | null;
  /** Oldest first. */
  missed: readonly Date[];
  /** There are older missed runs, which are not recorded one by one. */
  missedBefore: boolean;
  /** Late but not yet missed; a later due time runs in their place. */
  passedOver: readonly Date[];
  next: Date | null;
}

/** Decides what to do with every due time up to now. Each appears once, except the oldest ones of a long outage. */
export function planDue(schedule: DueSchedule, now: Date): DuePlan {
  const expression = parseCron(schedule.cron);
  const toleranceMs = schedule.missedAfterMinutes * minuteMs;
  const isMissed = (date: Date) => now.getTime() - date.getTime() > toleranceMs;
  const due = dueTimesToTell(expression, schedule, now, toleranceMs);
  const next = nextRun(expression, schedule.timezone, latest(now, schedule.nextRunAt)) ?? null;
  const newest = due.at(-1) as Date;
  const runs = !isMissed(newest) || schedule.catchUp === 'latest';
  const others = runs ? due.slice(0, -1) : due;
  const missed = others.filter(isMissed);
  return {
    trigger: runs ? newest : null,
    missed: missed.slice(-missedListedMax),
    missedBefore: missed.length > missedListedMax,
    passedOver: others.filter((date) => !isMissed(date)).slice(-missedListedMax),
    next,
  };
}

/**
 * The due times since the one that the schedule shows: as many of the newest as are recorded, oldest first, both of all
 * and of the missed ones.
 */
function dueTimesToTell(
  expression: CronExpression,
  { timezone, nextRunAt }: DueSchedule,
  now: Date,
  toleranceMs: number,
): Date[] {
  // One more for the run that begins, and one that shows whether there are more.
  const count = missedListedMax + 2;
  const newestUpTo = (until: Date) => newestDueTimes(expression, timezone, { after: nextRunAt, until }, count);
  const all = newestUpTo(now);
  if (all.length < count) return [nextRunAt, ...all.reverse()];
  const missed = newestUpTo(later(now, -toleranceMs - 1));
  const first = missed.length < count ? [nextRunAt] : [];
  const times = new Set([...first, ...missed, ...all].map((date) => date.getTime()));
  return [...times].sort((left, right) => left - right).map((time) => new Date(time));
}

function latest(left: Date, right: Date): Date {
  return left > right ? left : right;
}
