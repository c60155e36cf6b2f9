import { Temporal } from 'temporal-polyfill';
import { dayMs, minuteMs } from '../../../platform/durations.ts';
import { type CronExpression, matchesDay } from './cron-expression.ts';

/** The 29th of February may be eight years away. */
const daysMax = 9 * 366;

/** A wall-clock time as if it were in UTC, so that it can be compared and added as a plain number. */
type WallMs = number;

/** The first due time after an instant. Undefined when none comes within nine years. */
export function nextRun(expression: CronExpression, timezone: string, after: Date): Date | undefined {
  return expression.followsElapsedTime
    ? nextByElapsedTime(expression, timezone, after)
    : nextBySlot(expression, timezone, after);
}

export function nextRuns(expression: CronExpression, timezone: string, after: Date, count: number): Date[] {
  const runs: Date[] = [];
  for (let last = after; runs.length < count; ) {
    const next = nextRun(expression, timezone, last);
    if (!next) break;
    runs.push(next);
    last = next;
  }
  return runs;
}

/** Each wall-clock slot of a day runs once, at the first instant at which the clock shows it or a later time. */
function nextBySlot(expression: CronExpression, timezone: string, after: Date): Date | undefined {
  const horizon = wallOf(after.getTime(), timezone) + daysMax * dayMs;
  for (let wall = nextWall(expression, wallOf(after.getTime(), timezone), horizon); wall !== undefined; ) {
    const instant = firstInstantShowing(wall, timezone);
    if (instant > after.getTime()) return new Date(instant);
    // The clock was put back and shows this time again.
    wall = nextWall(expression, wall, horizon);
  }
  return undefined;
}

function firstInstantShowing(wall: WallMs, timezone: string): number {
  const asked = plainOf(new Date(wall));
  const earlier = asked.toZonedDateTime(timezone, { disambiguation: 'earlier' });
  if (earlier.toPlainDateTime().equals(asked)) return earlier.epochMilliseconds;
  // The clock skips this time, at the next change of the offset.
  return earlier.getTimeZoneTransition('next')!.epochMilliseconds;
}

/** Wall-clock times are whole minutes. */
function plainOf(wall: Date): Temporal.PlainDateTime {
  const [month, day] = [wall.getUTCMonth() + 1, wall.getUTCDate()];
  return new Temporal.PlainDateTime(wall.getUTCFullYear(), month, day, wall.getUTCHours(), wall.getUTCMinutes());
}

/**
 * Every instant whose wall clock matches. Between two changes of the offset, wall clock and instant advance together.
 */
function nextByElapsedTime(expression: CronExpression, timezone: string, after: Date): Date | undefined {
  let from = after.getTime();
  const horizon = from + daysMax * dayMs;
  for (let inclusive = false; from < horizon; inclusive = true) {
    const skippedMs = quietMs(expression, wallOf(from, timezone), horizon - from);
    if (skippedMs > 0) {
      from += skippedMs;
      continue;
    }
    const change = zoned(from, timezone).getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY;
    const wall = wallOf(from, timezone);
    const next = nextWall(expression, inclusive ? wall - 1 : wall, wall + Math.min(change, horizon) - from);
    if (next !== undefined) return new Date(from + next - wall);
    from = change;
  }
  return undefined;
}

/** No zone moves its clock by more than this, not even one that skips or repeats a whole day. */
const clockMoveMsMax = 2 * dayMs;

/**
 * How long no wall-clock time matches, however often the clock is moved meanwhile. Examining each of its changes would
 * take too long.
 */
function quietMs(expression: CronExpression, wall: WallMs, forMs: number): number {
  const next = nextWall(expression, wall - clockMoveMsMax, wall + forMs) ?? wall + forMs + clockMoveMsMax;
  return Math.max(0, next - clockMoveMsMax - wall);
}

/** The first matching wall-clock time after one and before another. */
function nextWall(expression: CronExpression, after: WallMs, before: WallMs): WallMs | undefined {
  const first = Math.floor(after / minuteMs) * minuteMs + minuteMs;
  for (let day = Math.floor(first / dayMs) * dayMs; day < before; day += dayMs) {
    const date = new Date(day);
    const calendar = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
    // Skips a month that is not named; the loop continues with the first day of the next one.
    if (!expression.months.has(calendar.month)) day = Date.UTC(calendar.year, calendar.month, 1) - dayMs;
    if (!matchesDay(expression, calendar)) continue;
    const found = firstTimeOfDay(expression, Math.max(0, first - day) / minuteMs);
    if (found === undefined) continue;
    const wall = day + found * minuteMs;
    return wall < before ? wall : undefined;
  }
  return undefined;
}

/** The first matching minute of a day, counted from midnight, at or after the given one. */
function firstTimeOfDay({ hours, minutes }: CronExpression, from: number): number | undefined {
  const fromHour = Math.floor(from / 60);
  for (const hour of hours) {
    if (hour < fromHour) continue;
    const minute = hour > fromHour ? minutes[0] : minutes.find((value) => value >= from % 60);
    if (minute !== undefined) return hour * 60 + minute;
  }
  return undefined;
}

function zoned(instantMs: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(timezone);
}

function wallOf(instantMs: number, timezone: string): WallMs {
  return instantMs + zoned(instantMs, timezone).offsetNanoseconds / 1_000_000;
}
