import { dayMs, hourMs, minuteMs, secondMs } from '@holdfast/contract';
import { formatClock, formatDay, formatHour, formatWeekday } from '../../format/times.ts';

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

/** Round moments between two others, as many as have room for their words. */
export function ticksOf(fromMs: number, toMs: number, ticksMax: number, zone: string): Tick[] {
  const stepMs = steps.find((step) => (toMs - fromMs) / step <= ticksMax) ?? 365 * dayMs;
  const first = Math.ceil(fromMs / stepMs) * stepMs;
  const count = Math.max(0, Math.floor((toMs - first) / stepMs) + 1);
  return Array.from({ length: Math.min(count, ticksMax + 1) }, (_, index) => {
    const atMs = first + index * stepMs;
    return { atMs, label: wordOf(atMs, stepMs, zone) };
  });
}

function wordOf(atMs: number, stepMs: number, zone: string): string {
  if (stepMs >= dayMs) return `${formatWeekday(atMs, zone)} ${formatDay(atMs, zone)}`;
  return stepMs >= minuteMs ? formatHour(atMs, zone) : formatClock(atMs, zone);
}
