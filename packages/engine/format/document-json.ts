import { instantFromParts, instantToParts, parseInstant } from '../ports/instant.ts';
import { malformed, ProtobufReader, ProtobufWriter } from './protobuf.ts';

/** Documents in the JSON form of Firestore's REST interface. Lossless: int64 as text, bytes as base64, times to the nanosecond. */
export interface JsonDocument {
  readonly name: string;
  readonly fields: JsonFields;
  readonly createTime?: string;
  readonly updateTime?: string;
}

export type JsonFields = Readonly<Record<string, JsonValue>>;

export type JsonValue =
  | { readonly nullValue: null }
  | { readonly booleanValue: boolean }
  | { readonly integerValue: string }
  | { readonly doubleValue: number | 'NaN' | 'Infinity' | '-Infinity' }
  | { readonly timestampValue: string }
  | { readonly stringValue: string }
  | { readonly bytesValue: string }
  | { readonly referenceValue: string }
  | { readonly geoPointValue: { readonly latitude: number; readonly longitude: number } }
  | { readonly arrayValue: { readonly values?: readonly JsonValue[] } }
  | { readonly mapValue: { readonly fields?: JsonFields } };

export function decodeDocument(bytes: Uint8Array): JsonDocument {
  const reader = new ProtobufReader(bytes);
  const fields = emptyFields();
  let name = '';
  let createTime: string | undefined;
  let updateTime: string | undefined;
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    if (tag === 0x0a) name = reader.string();
    else if (tag === 0x12) readField(reader.message(), fields);
    else if (tag === 0x1a) createTime = readTimestamp(reader.message());
    else if (tag === 0x22) updateTime = readTimestamp(reader.message());
    else reader.skip(tag & 7);
  }
  return { name, fields, ...(createTime ? { createTime } : {}), ...(updateTime ? { updateTime } : {}) };
}

/** A field may be named `__proto__` or `constructor`, so the object has no prototype. */
function emptyFields(): Record<string, JsonValue> {
  return Object.create(null) as Record<string, JsonValue>;
}

function readField(entry: ProtobufReader, into: Record<string, JsonValue>): void {
  let key = '';
  let value: JsonValue = { nullValue: null };
  while (!entry.isAtEnd) {
    const tag = entry.varint();
    if (tag === 0x0a) key = entry.string();
    else if (tag === 0x12) value = readValue(entry.message());
    else entry.skip(tag & 7);
  }
  into[key] = value;
}

function readValue(reader: ProtobufReader): JsonValue {
  let value: JsonValue = { nullValue: null };
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    const field = tag >>> 3;
    if (field === 1) value = { booleanValue: reader.varint64() !== 0n };
    else if (field === 2) value = { integerValue: reader.int64Text() };
    else if (field === 3) value = { doubleValue: jsonNumber(reader.double()) };
    else if (field === 5) value = { referenceValue: reader.string() };
    else if (field === 6) value = { mapValue: readMap(reader.message()) };
    else if (field === 8) value = { geoPointValue: readGeoPoint(reader.message()) };
    else if (field === 9) value = { arrayValue: readArray(reader.message()) };
    else if (field === 10) value = { timestampValue: readTimestamp(reader.message()) };
    else if (field === 11) {
      reader.varint64();
      value = { nullValue: null };
    } else if (field === 17) value = { stringValue: reader.string() };
    else if (field === 18) value = { bytesValue: Buffer.from(reader.bytesField()).toString('base64') };
    else reader.skip(tag & 7);
  }
  return value;
}

function readMap(reader: ProtobufReader): { fields?: JsonFields } {
  const fields = emptyFields();
  let isEmpty = true;
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    if (tag !== 0x0a) reader.skip(tag & 7);
    else {
      readField(reader.message(), fields);
      isEmpty = false;
    }
  }
  return isEmpty ? {} : { fields };
}

function readArray(reader: ProtobufReader): { values?: JsonValue[] } {
  const values: JsonValue[] = [];
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    if (tag === 0x0a) values.push(readValue(reader.message()));
    else reader.skip(tag & 7);
  }
  return values.length === 0 ? {} : { values };
}

function readGeoPoint(reader: ProtobufReader): { latitude: number; longitude: number } {
  let latitude = 0;
  let longitude = 0;
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    if (tag === 0x09) latitude = reader.double();
    else if (tag === 0x11) longitude = reader.double();
    else reader.skip(tag & 7);
  }
  return { latitude, longitude };
}

function readTimestamp(reader: ProtobufReader): string {
  let seconds = 0;
  let nanos = 0;
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    if (tag === 0x08) seconds = Number(reader.int64Text());
    else if (tag === 0x10) nanos = reader.varint();
    else reader.skip(tag & 7);
  }
  if (seconds < -62_135_596_800 || seconds > 253_402_300_799 || nanos > 999_999_999) throw malformed();
  return shortTime(instantFromParts(seconds, nanos));
}

/** Fractions are written with 0, 3, 6 or 9 digits, as Google's JSON does. */
function shortTime(instant: string): string {
  if (instant.endsWith('.000000000Z')) return `${instant.slice(0, 19)}Z`;
  return `${instant.slice(0, -1).replace(/(?:000){1,2}$/, '')}Z`;
}

function jsonNumber(value: number): number | 'NaN' | 'Infinity' | '-Infinity' {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Number.POSITIVE_INFINITY) return 'Infinity';
  return value === Number.NEGATIVE_INFINITY ? '-Infinity' : value;
}

/** JSON.rawJSON is in the language since ES2025 and not yet in the type library in use. */
const { rawJSON } = JSON as typeof JSON & { rawJSON: (text: string) => unknown };

/** JSON.stringify that keeps the sign of zero. */
export function stringifyLossless(value: unknown): string {
  // Checking each value while writing takes twice as long, and almost no document has a negative zero.
  if (!hasNegativeZero(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, part: unknown) => (Object.is(part, -0) ? rawJSON('-0') : part));
}

function hasNegativeZero(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return Object.is(value, -0);
  for (const key in value) if (hasNegativeZero((value as Record<string, unknown>)[key])) return true;
  return false;
}

export function encodeDocument(document: JsonDocument): Uint8Array {
  const writer = new ProtobufWriter().string(1, document.name);
  for (const [key, value] of Object.entries(document.fields)) writeField(writer, 2, key, value);
  if (document.createTime !== undefined) writeTimestamp(writer, 3, document.createTime);
  if (document.updateTime !== undefined) writeTimestamp(writer, 4, document.updateTime);
  return writer.finish();
}

function writeField(writer: ProtobufWriter, field: number, key: string, value: JsonValue): void {
  writer.message(field, (entry) => entry.string(1, key).message(2, (nested) => writeValue(nested, value)));
}

function writeTimestamp(writer: ProtobufWriter, field: number, text: string): void {
  const instant = parseInstant(text);
  if (instant === undefined) throw malformed();
  const { seconds, nanos } = instantToParts(instant);
  writer.message(field, (timestamp) => {
    if (seconds !== 0) timestamp.varint(1, seconds);
    if (nanos !== 0) timestamp.varint(2, nanos);
  });
}

function writeValue(writer: ProtobufWriter, value: JsonValue): void {
  if ('nullValue' in value) writer.varint(11, 0);
  else if ('booleanValue' in value) writer.varint(1, value.booleanValue ? 1 : 0);
  else if ('integerValue' in value) writer.varint(2, BigInt(value.integerValue));
  else if ('doubleValue' in value) writer.double(3, Number(value.doubleValue));
  else if ('timestampValue' in value) writeTimestamp(writer, 10, value.timestampValue);
  else if ('stringValue' in value) writer.string(17, value.stringValue);
  else if ('bytesValue' in value) writer.bytes(18, Buffer.from(value.bytesValue, 'base64'));
  else if ('referenceValue' in value) writer.string(5, value.referenceValue);
  else if ('geoPointValue' in value) {
    const { latitude, longitude } = value.geoPointValue;
    writer.message(8, (point) => {
      if (!Object.is(latitude, 0)) point.double(1, latitude);
      if (!Object.is(longitude, 0)) point.double(2, longitude);
    });
  } else if ('arrayValue' in value) {
    writer.message(9, (array) => {
      for (const element of value.arrayValue.values ?? []) array.message(1, (nested) => writeValue(nested, element));
    });
  } else {
    writer.message(6, (map) => {
      for (const [key, nested] of Object.entries(value.mapValue.fields ?? {})) writeField(map, 1, key, nested);
    });
  }
}
