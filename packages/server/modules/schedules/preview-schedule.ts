import type { DataOf, Operations } from '@holdfast/contract';
import { Temporal } from 'temporal-polyfill';
import { requireCron } from './check-settings.ts';
import { type CronExpression, matchesDay } from './cron/cron-expression.ts';
import { describeCron } from './cron/describe-cron.ts';
import { nextRuns } from './cron/next-run.ts';

type Preview = DataOf<Operations['previewSchedule']>;

/** The next runs, as instants and as local times. */
export function previewSchedule(cron: string, timezone: string, count: number, now: Date): Preview {
  const expression = requireCron(cron);
  const runs = nextRuns(expression, timezone, now, count);
  return {
    cron,
    timezone,
    description: describeCron(cron),
    runs: runs.map((run) => run.toISOString()),
    localRuns: runs.map((run) => wallClock(expression, timezone, run)),
    runsPerYear: runsPerYear(expression, timezone, now),
  };
}

const yearDays = 365;
/** From Monday on. A formatter for the zone would give the same, but making one takes longer than finding a run. */
const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Counted over whole days of a year: the next few runs may all be on one weekday, or in one month. */
function runsPerYear(expression: CronExpression, timezone: string, now: Date): number {
  const today = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timezone).toPlainDate();
  const days = Array.from({ length: yearDays }, (_, index) => today.add({ days: index }));
  return days.filter((day) => matchesDay(expression, day)).length * expression.hours.length * expression.minutes.length;
}

function wallClock(expression: CronExpression, timezone: string, run: Date): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(run.getTime()).toZonedDateTimeISO(timezone);
  const wall = `${weekdays[zoned.dayOfWeek - 1]} ${zoned.toPlainDate()} ${zoned.toPlainTime().toString({ smallestUnit: 'minute' })}`;
  if (expression.followsElapsedTime) return wall;
  const isOwnSlot = expression.hours.includes(zoned.hour) && expression.minutes.includes(zoned.minute);
  return isOwnSlot ? wall : `${wall} (moved: the clock jumps over its own time)`;
}
