/**
 * A moment as RFC 3339 in UTC with exactly nine fractional digits (`2026-03-01T12:00:00.123456000Z`). The fixed width
 * makes the order of the strings the order of the moments, and nothing Firestore can store is rounded.
 */
export type Instant = string;

const instantPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/;

export function instantFromParts(seconds: number, nanos: number): Instant {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(nanos).padStart(9, '0')}Z`;
}

export function instantToParts(instant: Instant): { seconds: number; nanos: number } {
  return { seconds: Date.parse(`${instant.slice(0, 19)}Z`) / 1000, nanos: Number(instant.slice(20, 29)) };
}

/** The newest instant not behind this one that has no more than microseconds: all the API takes as a time to read at. */
export function toMicroseconds(instant: Instant): Instant {
  return `${instant.slice(0, 26)}000Z`;
}

export function toWholeMillisecond(instant: Instant): Instant {
  return `${instant.slice(0, 23)}000000Z`;
}

export function toWholeMinute(instant: Instant): Instant {
  return `${instant.slice(0, 17)}00.000000000Z`;
}

/** Reads any RFC 3339 time, with an offset too; digits behind the ninth are left out. Undefined when it is none. */
export function parseInstant(text: string): Instant | undefined {
  const match = instantPattern.exec(text);
  if (match === null) return undefined;
  const [, second, fraction = '', zone] = match;
  const milliseconds = Date.parse(`${second}${zone}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return instantFromParts(milliseconds / 1000, Number(fraction.padEnd(9, '0')));
}

/** Evenly chosen, the last one always among them. */
export function thinnedInstants(instants: readonly Instant[], most: number): readonly Instant[] {
  const step = Math.ceil(instants.length / most);
  return step <= 1 ? instants : instants.filter((_, index) => (instants.length - 1 - index) % step === 0);
}

export function instantFromDate(date: Date): Instant {
  return instantFromParts(Math.floor(date.getTime() / 1000), date.getUTCMilliseconds() * 1_000_000);
}
