import { hourMs, minuteMs } from '../../../platform/durations.ts';
import { type CronExpression, parseCron } from '../cron/cron-expression.ts';
import { nextRun } from '../cron/next-run.ts';

/** Of an outage so many missed runs are told one by one. */
const missedToldMax = 10;
const windowStartMs = hourMs;

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
  /** Whether it is made up for: it should have begun long ago. */
  isCaughtUp: boolean;
  /** Oldest first. */
  missed: readonly Date[];
  /** Missed ones before those, which are not told one by one. */
  missedBefore: boolean;
  /** Late by less than a missed one, and a later one runs in their place. */
  passedOver: readonly Date[];
  next: Date | null;
}

/** What becomes of every due time up to now. Each of them appears once, but for the older ones of a long outage. */
export function planDue(schedule: DueSchedule, now: Date): DuePlan {
  const expression = parseCron(schedule.cron);
  const { due, isCut } = latestDue(expression, schedule, now);
  const next = nextRun(expression, schedule.timezone, later(now, schedule.nextRunAt)) ?? null;
  const isMissed = (date: Date) => now.getTime() - date.getTime() > schedule.missedAfterMinutes * minuteMs;
  const newest = due.at(-1) as Date;
  const runs = !isMissed(newest) || schedule.catchUp === 'latest';
  const others = runs ? due.slice(0, -1) : due;
  const missed = others.filter(isMissed);
  return {
    trigger: runs ? newest : null,
    isCaughtUp: runs && isMissed(newest),
    missed: missed.slice(-missedToldMax),
    missedBefore: isCut || missed.length > missedToldMax,
    passedOver: others.filter((date) => !isMissed(date)).slice(-missedToldMax),
    next,
  };
}

/** The latest due times from the one the schedule shows up to now; the window grows until it holds enough of them. */
function latestDue(
  expression: CronExpression,
  { timezone, nextRunAt }: DueSchedule,
  now: Date,
): { due: Date[]; isCut: boolean } {
  const enough = missedToldMax + 2;
  for (let windowMs = windowStartMs; ; windowMs *= 4) {
    const fromMs = Math.max(nextRunAt.getTime(), now.getTime() - windowMs);
    const isCut = fromMs > nextRunAt.getTime();
    const due: Date[] = isCut ? [] : [nextRunAt];
    for (let last = new Date(isCut ? fromMs - 1 : fromMs); ; ) {
      const next = nextRun(expression, timezone, last);
      if (!next || next > now) break;
      due.push(next);
      last = next;
    }
    if (!isCut || due.length >= enough) return { due, isCut };
  }
}

function later(left: Date, right: Date): Date {
  return left > right ? left : right;
}
