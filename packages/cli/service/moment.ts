import { dayMs, hourMs, minuteMs } from '@holdfast/contract';
import { InvalidArgumentError } from 'commander';

const unitMs: Readonly<Record<string, number>> = {
  second: 1000,
  minute: minuteMs,
  hour: hourMs,
  day: dayMs,
};

const agoPattern = /^(\d+(?:\.\d+)?|an?)\s*(second|minute|hour|day)s?\s+ago$/i;
const timePattern = /^\d{4}-\d\d-\d\dT/;

/** Whether a word is a moment and not a name. */
export function isMoment(text: string): boolean {
  return agoPattern.test(text.trim()) || timePattern.test(text);
}

/** `2026-03-01T12:00:00Z`, `2 hours ago`, `90 seconds ago`, `an hour ago`. */
export function parseMoment(text: string, now: Date = new Date()): string {
  const ago = agoPattern.exec(text.trim());
  if (ago) {
    const count = /^an?$/i.test(ago[1]!) ? 1 : Number(ago[1]);
    return new Date(now.getTime() - count * unitMs[ago[2]!.toLowerCase()]!).toISOString();
  }
  if (timePattern.test(text)) {
    const time = Date.parse(text);
    // Kept as it was given, because it may have more digits than a date can hold.
    if (!Number.isNaN(time)) return /(Z|[+-]\d\d:\d\d)$/.test(text) ? text : new Date(time).toISOString();
  }
  throw new InvalidArgumentError('Give a moment such as "2 hours ago" or 2026-03-01T12:00:00Z.');
}
