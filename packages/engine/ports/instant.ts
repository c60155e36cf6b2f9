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

/** Rounds down to microseconds: the API takes no finer read time. */
export function toMicroseconds(instant: Instant): Instant {
  return `${instant.slice(0, 26)}000Z`;
}

export function toWholeMillisecond(instant: Instant): Instant {
  return `${instant.slice(0, 23)}000000Z`;
}

export function toWholeMinute(instant: Instant): Instant {
  return `${instant.slice(0, 17)}00.000000000Z`;
}

/**
 * Reads any RFC 3339 time, also with an offset; digits after the ninth are dropped. Undefined when the text is no time.
 */
export function parseInstant(text: string): Instant | undefined {
  const parts = parseInstantParts(text);
  return parts === undefined ? undefined : instantFromParts(parts.seconds, parts.nanos);
}

/** The same as seconds since 1970 and nanoseconds. */
export function parseInstantParts(text: string): { seconds: number; nanos: number } | undefined {
  if (utcPattern.test(text)) return partsOfUtc(text);
  const match = instantPattern.exec(text);
  if (match === null) return undefined;
  const [, second, fraction = '', zone] = match;
  const milliseconds = Date.parse(`${second}${zone}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return { seconds: milliseconds / 1000, nanos: Number(fraction.padEnd(9, '0')) };
}

/**
 * The form that services write. Scans read millions of them, and Date.parse or pattern groups take three times as long.
 */
const utcPattern =
  /^[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;
const zero = 0x30;

function partsOfUtc(text: string): { seconds: number; nanos: number } {
  const two = (at: number) => (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;
  const milliseconds = Date.UTC(two(0) * 100 + two(2), two(5) - 1, two(8), two(11), two(14), two(17));
  let nanos = 0;
  for (let index = 20; index < 29; index += 1)
    nanos = nanos * 10 + (index < text.length - 1 ? text.charCodeAt(index) - zero : 0);
  return { seconds: milliseconds / 1000, nanos };
}

/** Chooses instants evenly, always including the last one. */
export function thinnedInstants(instants: readonly Instant[], most: number): readonly Instant[] {
  const step = Math.ceil(instants.length / most);
  return step <= 1 ? instants : instants.filter((_, index) => (instants.length - 1 - index) % step === 0);
}

export function instantFromDate(date: Date): Instant {
  return instantFromParts(Math.floor(date.getTime() / 1000), date.getUTCMilliseconds() * 1_000_000);
}
