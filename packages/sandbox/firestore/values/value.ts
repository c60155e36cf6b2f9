import { invalid } from '../transport/status.ts';
import { readTimestamp } from './timestamp.ts';
import { WireReader } from './wire.ts';

/** The ranks of Firestore's value types in its total order. */
export const rank = {
  null: 0,
  boolean: 1,
  number: 2,
  timestamp: 3,
  string: 4,
  bytes: 5,
  reference: 6,
  geoPoint: 7,
  array: 8,
  vector: 9,
  map: 10,
} as const;

/** Field tags of google.firestore.v1.Value, wire type included. */
export const valueTag = {
  boolean: 0x08,
  integer: 0x10,
  double: 0x19,
  reference: 0x2a,
  map: 0x32,
  geoPoint: 0x42,
  array: 0x4a,
  timestamp: 0x52,
  null: 0x58,
  string: 0x8a,
  bytes: 0x92,
} as const;

/** A value read for comparing; strings stay UTF-8 because that is how they sort. `exact` holds integers above 2^53. */
export type Value =
  | { readonly rank: 0 }
  | { readonly rank: 1; readonly boolean: boolean }
  | { readonly rank: 2; readonly double: number; readonly exact: bigint | null; readonly isInteger: boolean }
  | { readonly rank: 3; readonly seconds: number; readonly nanos: number }
  | { readonly rank: 4 | 5; readonly bytes: Uint8Array }
  | { readonly rank: 6; readonly name: string }
  | { readonly rank: 7; readonly latitude: number; readonly longitude: number }
  | { readonly rank: 8; readonly elements: readonly Value[] }
  | { readonly rank: 9; readonly elements: readonly Value[] }
  | { readonly rank: 10; readonly entries: ReadonlyMap<string, Value> };

export type NumberValue = Extract<Value, { rank: 2 }>;

const nullValue: Value = { rank: 0 };
const vectorType = '__vector__';

export function decodeValue(bytes: Uint8Array, start = 0, end = bytes.length): Value {
  const reader = new WireReader(bytes, start, end);
  let value: Value | undefined;
  while (reader.more) value = readAlternative(reader, reader.uint32()) ?? value;
  if (value === undefined) throw invalid('A value has no type set.');
  return value;
}

function readAlternative(reader: WireReader, tag: number): Value | undefined {
  switch (tag) {
    case valueTag.null:
      reader.int64();
      return nullValue;
    case valueTag.boolean:
      return { rank: 1, boolean: reader.uint32() !== 0 };
    case valueTag.integer: {
      const value = reader.int64();
      if (typeof value === 'number') return { rank: 2, double: value, exact: null, isInteger: true };
      return { rank: 2, double: Number(value), exact: value, isInteger: true };
    }
    case valueTag.double:
      return { rank: 2, double: reader.double(), exact: null, isInteger: false };
    default:
      return readDelimited(reader, tag);
  }
}

function readDelimited(reader: WireReader, tag: number): Value | undefined {
  if ((tag & 7) !== 2) {
    reader.skip(tag & 7);
    return undefined;
  }
  const start = reader.delimited();
  const end = reader.position;
  const { bytes } = reader;
  switch (tag) {
    case valueTag.timestamp:
      return { rank: 3, ...readTimestamp(bytes, start, end) };
    case valueTag.string:
      return { rank: 4, bytes: bytes.subarray(start, end) };
    case valueTag.bytes:
      return { rank: 5, bytes: bytes.subarray(start, end) };
    case valueTag.reference:
      return { rank: 6, name: textOf(bytes, start, end) };
    case valueTag.geoPoint:
      return readGeoPoint(bytes, start, end);
    case valueTag.array:
      return { rank: 8, elements: readElements(bytes, start, end) };
    case valueTag.map:
      return readMap(bytes, start, end);
    default:
      return undefined;
  }
}

export function textOf(bytes: Uint8Array, start = 0, end = bytes.length): string {
  if (Buffer.isBuffer(bytes)) return bytes.toString('utf8', start, end);
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
}

function readGeoPoint(bytes: Uint8Array, start: number, end: number): Value {
  const reader = new WireReader(bytes, start, end);
  let latitude = 0;
  let longitude = 0;
  while (reader.more) {
    const tag = reader.uint32();
    if (tag === 0x09) latitude = reader.double();
    else if (tag === 0x11) longitude = reader.double();
    else reader.skip(tag & 7);
  }
  return { rank: 7, latitude, longitude };
}

function readElements(bytes: Uint8Array, start: number, end: number): Value[] {
  const reader = new WireReader(bytes, start, end);
  const elements: Value[] = [];
  while (reader.more) {
    const tag = reader.uint32();
    if (tag !== 0x0a) reader.skip(tag & 7);
    else elements.push(decodeValue(bytes, reader.delimited(), reader.position));
  }
  return elements;
}

function readMap(bytes: Uint8Array, start: number, end: number): Value {
  const entries = new Map<string, Value>();
  for (const entry of mapEntries(bytes, start, end, 0x0a)) {
    entries.set(textOf(bytes, entry.keyStart, entry.keyEnd), decodeValue(bytes, entry.valueStart, entry.valueEnd));
  }
  const vector = vectorOf(entries);
  return vector ?? { rank: 10, entries };
}

function vectorOf(entries: ReadonlyMap<string, Value>): Value | undefined {
  if (entries.size !== 2) return undefined;
  const type = entries.get('__type__');
  const value = entries.get('value');
  if (type?.rank !== rank.string || value?.rank !== rank.array || textOf(type.bytes) !== vectorType) return undefined;
  return { rank: 9, elements: value.elements };
}

export interface MapEntry {
  /** Where the entry's own bytes, tag included, start; they end at `valueEnd`'s message end. */
  readonly start: number;
  readonly end: number;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** The entries of a protobuf map in wire order: tag 0x0a inside a MapValue, 0x12 inside a Document. */
export function* mapEntries(
  bytes: Uint8Array,
  start: number,
  end: number,
  entryTag: number,
): Generator<MapEntry, void, undefined> {
  const reader = new WireReader(bytes, start, end);
  while (reader.more) {
    const entryStart = reader.position;
    const tag = reader.uint32();
    if (tag === entryTag) yield readEntry(bytes, entryStart, reader.delimited(), reader.position);
    else reader.skip(tag & 7);
  }
}

export function readEntry(bytes: Uint8Array, start: number, contentStart: number, end: number): MapEntry {
  const reader = new WireReader(bytes, contentStart, end);
  let keyStart = contentStart;
  let keyEnd = contentStart;
  let valueStart = end;
  let valueEnd = end;
  while (reader.more) {
    const tag = reader.uint32();
    if (tag === 0x0a) {
      keyStart = reader.delimited();
      keyEnd = reader.position;
    } else if (tag === 0x12) {
      valueStart = reader.delimited();
      valueEnd = reader.position;
    } else {
      reader.skip(tag & 7);
    }
  }
  return { start, end, keyStart, keyEnd, valueStart, valueEnd };
}
