import { dayMs, hourMs, minuteMs, secondMs } from '@holdfast/contract';
import { formatClock, formatDay, formatHour, formatWeekday, offsetMsOf } from '../../format/times.ts';

const steps = [
  secondMs,
  5 * secondMs,
  15 * secondMs,
  minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  hourMs,
  3 * hourMs,
  6 * hourMs,
  dayMs,
  2 * dayMs,
  7 * dayMs,
  30 * dayMs,
];

export interface Tick {
  readonly atMs: number;
  readonly label: string;
}

/** Round times between two others, as many as have room for their labels. */
export function ticksOf(fromMs: number, toMs: number, ticksMax: number, zone: string): Tick[] {
  const stepMs = steps.find((step) => (toMs - fromMs) / step <= ticksMax) ?? 365 * dayMs;
  // A day's label stands where the day begins in its zone.
  const momentOf = (ms: number) => (stepMs < dayMs ? ms : midnightIn(ms, zone));
  const first = Math.floor(fromMs / stepMs) * stepMs;
  return Array.from({ length: ticksMax + 3 }, (_, index) => momentOf(first + index * stepMs))
    .filter((atMs) => atMs >= fromMs && atMs <= toMs)
    .map((atMs) => ({ atMs, label: wordOf(atMs, stepMs, zone) }));
}

/** Midnights every n days between two times, counted back from the last one. */
export function midnightsOf(fromMs: number, toMs: number, everyDays: number, zone: string): number[] {
  const lastWallMs = Math.floor((toMs + offsetMsOf(toMs, zone)) / dayMs) * dayMs;
  const count = Math.ceil((toMs - fromMs) / (everyDays * dayMs)) + 1;
  return Array.from({ length: count }, (_, index) => midnightIn(lastWallMs - index * everyDays * dayMs, zone))
    .filter((atMs) => atMs >= fromMs)
    .reverse();
}

/** The midnight of a day given as milliseconds since the epoch. */
function midnightIn(wallMs: number, zone: string): number {
  const nearMs = wallMs - offsetMsOf(wallMs, zone);
  return wallMs - offsetMsOf(nearMs, zone);
}

function wordOf(atMs: number, stepMs: number, zone: string): string {
  if (stepMs >= dayMs) return `${formatWeekday(atMs, zone)} ${formatDay(atMs, zone)}`;
  return stepMs >= minuteMs ? formatHour(atMs, zone) : formatClock(atMs, zone);
}
