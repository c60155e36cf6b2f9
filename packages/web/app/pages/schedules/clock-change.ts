import { dayMs, minuteMs } from '@holdfast/contract';
import { rhythmOf } from '../../format/cron.ts';
import { formatDay, formatHour, inputClock, inputDate, offsetMsOf } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import type { Draft } from './draft.ts';

const lookAheadDays = 366;

interface ClockChange {
  /** The first instant after the change. */
  readonly atMs: number;
  /** How far the clock moves forward; negative when it moves back. */
  readonly byMs: number;
}

/** When the clock of a zone is changed next, within a year. */
function nextClockChange(zone: string, nowMs: number): ClockChange | undefined {
  for (let dayAt = nowMs; dayAt < nowMs + lookAheadDays * dayMs; dayAt += dayMs) {
    const byMs = offsetMsOf(dayAt + dayMs, zone) - offsetMsOf(dayAt, zone);
    if (byMs === 0) continue;
    let [before, after] = [Math.floor(dayAt / minuteMs), Math.ceil((dayAt + dayMs) / minuteMs)];
    while (after - before > 1) {
      const between = Math.floor((before + after) / 2);
      if (offsetMsOf(between * minuteMs, zone) === offsetMsOf(dayAt, zone)) before = between;
      else after = between;
    }
    return { atMs: after * minuteMs, byMs };
  }
  return undefined;
}

/** What the next change of the clock does to a schedule with a time of day; undefined where it does nothing. */
export function clockChangeOf({ cron, timezone }: Pick<Draft, 'cron' | 'timezone'>, nowMs: number): string | undefined {
  const rhythm = rhythmOf(cron);
  if (!('time' in rhythm)) return undefined;
  const change = nextClockChange(timezone, nowMs);
  if (!change || !runsOn(rhythm, new Date(`${inputDate(change.atMs, timezone)}T00:00:00Z`).getUTCDay()))
    return undefined;
  const day = formatDay(change.atMs, timezone, nowMs);
  const place = timezone.split('/').at(-1)?.replaceAll('_', ' ') ?? timezone;
  const minutesOf = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5));
  const [after, run, byMinutes] = [
    minutesOf(inputClock(change.atMs, timezone)),
    minutesOf(rhythm.time),
    change.byMs / minuteMs,
  ];
  if (change.byMs > 0)
    return run >= after - byMinutes && run < after
      ? t.schedules.clockAhead(day, rhythm.time, place, formatHour(change.atMs, timezone))
      : undefined;
  return run >= after && run < after - byMinutes ? t.schedules.clockBack(day, rhythm.time, place) : undefined;
}

function runsOn(rhythm: Exclude<ReturnType<typeof rhythmOf>, { kind: 'hours' | 'cron' }>, weekday: number): boolean {
  if (rhythm.kind === 'week') return rhythm.weekday === weekday;
  return rhythm.kind === 'day' || (weekday > 0 && weekday < 6);
}
