import { isUtf8 } from 'node:buffer';
import { readTimestamp } from './timestamp.ts';
import { type MapEntry, readEntry, textOf, valueTag } from './value.ts';
import { WireReader } from './wire.ts';

const timestampSecondsMin = -62_135_596_800;
const timestampSecondsMax = 253_402_300_799;
const nanosMax = 999_999_999;
const vectorDimensionsMax = 2048;
const underscore = 0x5f;
const typeKey = '__type__';

/** Valid UTF-8. Plain ASCII, the common case, is decided without leaving JavaScript. */
export function isText(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at]! >= 0x80) return isUtf8(bytes.subarray(start, end));
  return true;
}

export function isUnderscored(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === underscore && bytes[at + 1] === underscore;
}

export function isTimestamp(bytes: Uint8Array, start: number, end: number): boolean {
  const { seconds, nanos } = readTimestamp(bytes, start, end);
  return seconds >= timestampSecondsMin && seconds <= timestampSecondsMax && nanos >= 0 && nanos <= nanosMax;
}

export function isGeoPoint(bytes: Uint8Array, start: number, end: number): boolean {
  const reader = new WireReader(bytes, start, end);
  while (reader.more) {
    const tag = reader.uint32();
    if (tag !== 0x09 && tag !== 0x11) return false;
    if (!(Math.abs(reader.double()) <= (tag === 0x09 ? 90 : 180))) return false;
  }
  return true;
}

/** A map with a `__type__` must be a vector: that, and `value`, an array of doubles. */
export function kindOfMap(bytes: Uint8Array, start: number, end: number): 'map' | 'vector' | 'malformed vector' {
  const reader = new WireReader(bytes, start, end);
  const entries: MapEntry[] = [];
  let typed = false;
  while (reader.more) {
    const entryStart = reader.position;
    reader.uint32();
    const entry = readEntry(bytes, entryStart, reader.delimited(), reader.position);
    entries.push(entry);
    typed ||= isUnderscored(bytes, entry.keyStart) && keyOf(bytes, entry) === typeKey;
  }
  if (!typed) return 'map';
  const numbers = entries.find((entry) => keyOf(bytes, entry) === 'value');
  const dimensions = numbers === undefined ? -1 : countDoubles(bytes, numbers.valueStart, numbers.valueEnd);
  const isVector = entries.length === 2 && dimensions >= 1 && dimensions <= vectorDimensionsMax;
  return isVector ? 'vector' : 'malformed vector';
}

function keyOf(bytes: Uint8Array, entry: MapEntry): string {
  return textOf(bytes, entry.keyStart, entry.keyEnd);
}

/** The number of doubles in an array value, or -1 when it is not an array of doubles. */
function countDoubles(bytes: Uint8Array, start: number, end: number): number {
  const outer = new WireReader(bytes, start, end);
  if (!outer.more || outer.uint32() !== valueTag.array) return -1;
  const reader = new WireReader(bytes, outer.delimited(), outer.position);
  let count = 0;
  while (reader.more) {
    reader.uint32();
    if (bytes[reader.delimited()] !== valueTag.double) return -1;
    count += 1;
  }
  return count;
}
