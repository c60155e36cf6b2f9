import type { DataOf, Operations } from '@holdfast/contract';
import { Temporal } from 'temporal-polyfill';
import { requireCron } from './check-settings.ts';
import type { CronExpression } from './cron/cron-expression.ts';
import { describeCron } from './cron/describe-cron.ts';
import { nextRuns } from './cron/next-run.ts';

type Preview = DataOf<Operations['previewSchedule']>;

/** The next runs as instants and as the clock on the wall shows them. */
export function previewSchedule(cron: string, timezone: string, count: number, now: Date): Preview {
  const expression = requireCron(cron);
  const runs = nextRuns(expression, timezone, now, count);
  return {
    cron,
    timezone,
    description: describeCron(cron),
    runs: runs.map((run) => run.toISOString()),
    localRuns: runs.map((run) => wallClock(expression, timezone, run)),
  };
}

function wallClock(expression: CronExpression, timezone: string, run: Date): string {
  const zoned = Temporal.Instant.fromEpochMilliseconds(run.getTime()).toZonedDateTimeISO(timezone);
  const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: timezone }).format(run);
  const wall = `${weekday} ${zoned.toPlainDate()} ${zoned.toPlainTime().toString({ smallestUnit: 'minute' })}`;
  if (expression.followsElapsedTime) return wall;
  const isOwnSlot = expression.hours.includes(zoned.hour) && expression.minutes.includes(zoned.minute);
  return isOwnSlot ? wall : `${wall} (moved: the clock jumps over its own time)`;
}
