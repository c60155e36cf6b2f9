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
