import type { JsonValue } from '../format/document-json.ts';
import { EngineError } from '../ports/errors.ts';
import { instantFromParts, parseInstant } from '../ports/instant.ts';
import { WholeNumber } from './json-reader.ts';

export type PlainObject = Record<string, unknown>;

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WholeNumber);
}

/** Plain JSON as a typed value; the tags that exporters used for what JSON cannot say are understood. */
export function typedValue(value: unknown, database: string): JsonValue {
  if (value === null) return { nullValue: null };
  if (typeof value === 'boolean') return { booleanValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') return { doubleValue: value };
  if (value instanceof WholeNumber) return integer(value);
  if (Array.isArray(value)) {
    const values = value.map((element) => typedValue(element, database));
    return { arrayValue: values.length === 0 ? {} : { values } };
  }
  const object = value as PlainObject;
  return tagged(object, database) ?? mapOf(object, database);
}

function integer({ text }: WholeNumber): JsonValue {
  const isInt64 = BigInt.asIntN(64, BigInt(text)) === BigInt(text);
  return isInt64 ? { integerValue: String(BigInt(text)) } : { doubleValue: Number(text) };
}

function mapOf(object: PlainObject, database: string): JsonValue {
  const entries = Object.entries(object).map(([key, value]) => [key, typedValue(value, database)] as const);
  return { mapValue: entries.length === 0 ? {} : { fields: Object.fromEntries(entries) } };
}

function tagged(object: PlainObject, database: string): JsonValue | undefined {
  const type = object.__datatype__ ?? object.__type__;
  if (typeof type === 'string' && 'value' in object) return byTag(type, object.value, database);
  const keys = Object.keys(object).sort().join();
  if (keys === '_nanoseconds,_seconds') return timestamp(object._seconds, object._nanoseconds);
  if (keys === '_latitude,_longitude') return geoPoint(object._latitude, object._longitude);
  return undefined;
}

function byTag(type: string, value: unknown, database: string): JsonValue | undefined {
  const object = isPlainObject(value) ? value : {};
  if (type === 'timestamp' && typeof value === 'string') return timestampText(value);
  if (type === 'timestamp')
    return timestamp(object._seconds ?? object.seconds, object._nanoseconds ?? object.nanoseconds);
  if (type === 'geopoint') return geoPoint(object._latitude ?? object.latitude, object._longitude ?? object.longitude);
  if (type === 'documentReference' || type === 'reference') return reference(String(value), database);
  if (type === 'bytes' || type === 'buffer')
    return { bytesValue: Buffer.from(String(value), 'base64').toString('base64') };
  return undefined;
}

function timestamp(seconds: unknown, nanos: unknown): JsonValue {
  return { timestampValue: instantFromParts(numberOf(seconds), numberOf(nanos)) };
}

function timestampText(text: string): JsonValue {
  const instant = parseInstant(text);
  if (instant === undefined) throw new EngineError('VALIDATION_ERROR', `${text} is not a time.`);
  return { timestampValue: instant };
}

function geoPoint(latitude: unknown, longitude: unknown): JsonValue {
  return { geoPointValue: { latitude: numberOf(latitude), longitude: numberOf(longitude) } };
}

function reference(text: string, database: string): JsonValue {
  return { referenceValue: text.startsWith('projects/') ? text : `${database}/documents/${text}` };
}

function numberOf(value: unknown): number {
  const number = value instanceof WholeNumber ? Number(value.text) : value;
  if (typeof number !== 'number' || !Number.isFinite(number))
    throw new EngineError('VALIDATION_ERROR', 'A tagged value is damaged.');
  return number;
}
