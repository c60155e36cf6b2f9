import { varint, WireReader, WireWriter } from './wire.ts';

/** A google.protobuf.Timestamp as the proto library hands it over: seconds may be a number, a string or a Long. */
export interface TimestampMessage {
  seconds?: unknown;
  nanos?: number | null;
}

/** Microseconds since the epoch: Firestore's resolution of time. Exact in a double until the year 2255. */
export type Micros = number;

export const secondMicros: Micros = 1_000_000;
export const minuteMicros: Micros = 60 * secondMicros;
export const hour: Micros = 60 * minuteMicros;
export const day: Micros = 24 * hour;

export function microsFrom(message: TimestampMessage): Micros {
  return Number(message.seconds ?? 0) * secondMicros + Math.floor((message.nanos ?? 0) / 1000);
}

export function timestampFrom(micros: Micros): { seconds: number; nanos: number } {
  const seconds = Math.floor(micros / secondMicros);
  return { seconds, nanos: (micros - seconds * secondMicros) * 1000 };
}

export function encodeTimestamp(micros: Micros): Buffer {
  const { seconds, nanos } = timestampFrom(micros);
  return encodeTimestampParts(seconds, nanos);
}

/** For times that microseconds in a double cannot hold exactly: values reach from the year 1 to 9999. */
export function encodeTimestampParts(seconds: number, nanos: number): Buffer {
  const writer = new WireWriter(16);
  if (seconds !== 0) writer.tag(1, varint).int64(seconds);
  if (nanos !== 0) writer.tag(2, varint).varint(nanos);
  return writer.finish();
}

/** Reads a Timestamp message in place, unrounded. */
export function readTimestamp(bytes: Uint8Array, start: number, end: number): { seconds: number; nanos: number } {
  const reader = new WireReader(bytes, start, end);
  const result = { seconds: 0, nanos: 0 };
  while (reader.more) {
    const tag = reader.uint32();
    if (tag === 0x08) result.seconds = Number(reader.int64());
    else if (tag === 0x10) result.nanos = Number(reader.int64());
    else reader.skip(tag & 7);
  }
  return result;
}

/** RFC 3339 with microseconds, as the REST API prints times. */
export function isoFrom(micros: Micros): string {
  const { seconds, nanos } = timestampFrom(micros);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(nanos / 1000).padStart(6, '0')}Z`;
}

/** RFC 3339 with as many digits, in threes, as the time needs: the form of times in JSON. */
export function rfc3339(seconds: number, nanos: number): string {
  const days = Math.floor(seconds / daySeconds);
  const rest = seconds - days * daySeconds;
  const two = (number: number) => (number < 10 ? `0${number}` : `${number}`);
  const second = `${dateOf(days)}T${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`;
  if (nanos === 0) return `${second}Z`;
  const digits = String(nanos).padStart(9, '0');
  return `${second}.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}Z`;
}

const daySeconds = day / secondMicros;
const datesMax = 10_000;
const dates = new Map<number, string>();

/** Cached by day: a database's times are on few days, and formatting one costs more than the rest of a name. */
function dateOf(days: number): string {
  let date = dates.get(days);
  if (date === undefined) {
    if (dates.size >= datesMax) dates.clear();
    date = new Date(days * daySeconds * 1000).toISOString().slice(0, 10);
    dates.set(days, date);
  }
  return date;
}

const rfc3339Pattern = /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/;

/** Undefined when the text is no such time. */
export function parseRfc3339(text: string): { seconds: number; nanos: number } | undefined {
  const match = rfc3339Pattern.exec(text);
  const milliseconds = match === null ? Number.NaN : Date.parse(`${match[1]}${match[3]}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return { seconds: milliseconds / 1000, nanos: Number((match![2] ?? '').padEnd(9, '0')) };
}
