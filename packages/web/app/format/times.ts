import { dayMs, hourMs, minuteMs } from '@holdfast/contract';
import { formatDuration } from './numbers.ts';
import { serviceNow } from './service-clock.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options });
    formats.set(key, found);
  }
  return found;
}

const dateParts = { day: 'numeric', month: 'short', year: 'numeric' } as const;
const clockParts = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;

type Moment = string | number | Date;
const asDate = (moment: Moment) => new Date(moment);

/** 18 Nov 2025 02:46:59 */
export function formatDateTime(moment: Moment, zone: string): string {
  return `${formatDate(moment, zone)} ${formatClock(moment, zone)}`;
}

function formatDate(moment: Moment, zone: string): string {
  return formatter(zone, dateParts).format(asDate(moment)).replace('Sept', 'Sep');
}

/** 18 Nov, with the year only where it is another one. */
export function formatDay(moment: Moment, zone: string, nowMs = serviceNow()): string {
  const year = (at: Moment) => formatter(zone, { year: 'numeric' }).format(asDate(at));
  const date = formatDate(moment, zone);
  return year(moment) === year(nowMs) ? date.replace(/ \d{4}$/, '') : date;
}

export function formatClock(moment: Moment, zone: string): string {
  return formatter(zone, clockParts).format(asDate(moment));
}

export function formatHour(moment: Moment, zone: string): string {
  return formatter(zone, { hour: '2-digit', minute: '2-digit' }).format(asDate(moment));
}

export function formatWeekday(moment: Moment, zone: string): string {
  return formatter(zone, { weekday: 'short' }).format(asDate(moment));
}

/** Nov, of a day that is given as its midnight in UTC. */
export function formatMonth(day: number): string {
  return formatter('UTC', { month: 'short' }).format(day).replace('Sept', 'Sep');
}

/** Today, or the day with its weekday within a week, else the date. */
export function formatNearDay(moment: Moment, zone: string, nowMs = serviceNow()): string {
  const day = formatDate(moment, zone);
  if (day === formatDate(nowMs, zone)) return 'Today';
  if (day === formatDate(nowMs + dayMs, zone)) return 'Tomorrow';
  return `${formatWeekday(moment, zone)} ${formatDay(moment, zone, nowMs)}`;
}

/** Under two days "7 h ago", under a week "2 d 13 h ago", beyond it the date. */
export function formatAge(moment: Moment, zone: string, nowMs = serviceNow()): string {
  const ageMs = nowMs - asDate(moment).getTime();
  // Clocks differ by seconds: a time slightly in the future counts as now.
  if (Math.abs(ageMs) < minuteMs) return 'just now';
  if (ageMs < 0) return formatIn(moment, zone, nowMs);
  if (ageMs > 7 * dayMs) return formatDay(moment, zone, nowMs);
  return `${formatRoughly(ageMs)} ago`;
}

export function formatIn(moment: Moment, zone: string, nowMs = serviceNow()): string {
  const aheadMs = asDate(moment).getTime() - nowMs;
  if (aheadMs < minuteMs) return 'in a moment';
  if (aheadMs > 7 * dayMs) return formatDay(moment, zone, nowMs);
  return `in ${formatRoughly(aheadMs)}`;
}

/** Minutes matter only within hours, hours only within days. */
export function formatRoughly(ms: number): string {
  const minutes = Math.floor(ms / minuteMs);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 6 * 60) return formatDuration(minutes * minuteMs);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h`;
  return formatDuration(Math.floor(minutes / 60) * hourMs);
}

/** The instant of a wall-clock time in a zone; one inside a DST gap is moved after it. */
export function instantOf(date: string, clock: string, zone: string): Date | undefined {
  const wanted = Date.parse(`${date}T${clock.length === 5 ? `${clock}:00` : clock}Z`);
  if (Number.isNaN(wanted)) return undefined;
  let guess = wanted;
  for (let round = 0; round < 3; round++) guess += wanted - wallClockMs(guess, zone);
  return new Date(guess);
}

function wallClockMs(atMs: number, zone: string): number {
  const parts = formatter(zone, { ...clockParts, day: '2-digit', month: '2-digit', year: 'numeric' }).formatToParts(
    atMs,
  );
  const read = (type: string) => parts.find((part) => part.type === type)?.value ?? '0';
  return Date.parse(
    `${read('year')}-${read('month')}-${read('day')}T${read('hour')}:${read('minute')}:${read('second')}Z`,
  );
}

/** The offset of a zone from UTC. */
export function offsetMsOf(atMs: number, zone: string): number {
  const second = Math.floor(atMs / 1000) * 1000;
  return wallClockMs(second, zone) - second;
}

const typedMoment = /^(?:(\d{4}-\d\d-\d\d|today|yesterday)(?:T| +(?:at +)?))?(\d{1,2})(:\d\d(?::\d\d)?)$/i;

/** What somebody typed as 02:46, 02:46:59, yesterday 14:05 or 2025-11-18 02:46; without a day the last time the clock showed it. */
export function momentIn(text: string, zone: string, nowMs: number): number | undefined {
  const [, day, hour, rest] = typedMoment.exec(text) ?? [];
  if (hour === undefined || rest === undefined) return undefined;
  const at = (date: string) => instantOf(date, `${hour.padStart(2, '0')}${rest}`, zone)?.getTime();
  const today = inputDate(nowMs, zone);
  const yesterday = new Date(Date.parse(today) - dayMs).toISOString().slice(0, 10);
  const named: Readonly<Record<string, string>> = { today, yesterday };
  if (day !== undefined) return at(named[day.toLowerCase()] ?? day);
  const lately = at(today);
  return lately !== undefined && lately > nowMs ? at(yesterday) : lately;
}

/** For date and time inputs. */
export function inputDate(moment: Moment, zone: string): string {
  return new Date(wallClockMs(asDate(moment).getTime(), zone)).toISOString().slice(0, 10);
}

export function inputClock(moment: Moment, zone: string): string {
  return new Date(wallClockMs(asDate(moment).getTime(), zone)).toISOString().slice(11, 19);
}
