import type { JsonValue } from '../format/document-json.ts';
import { EngineError } from '../ports/errors.ts';
import { instantFromParts, parseInstant } from '../ports/instant.ts';
import { WholeNumber } from './json-reader.ts';
import { requireFieldName } from './names.ts';

export type PlainObject = Record<string, unknown>;

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WholeNumber);
}

/** As deep as Firestore nests values. */
const depthMax = 20;

/** Plain JSON as a typed value; the tags that exporters used for what JSON cannot say are understood. */
export function typedValue(value: unknown, database: string, depth = 1): JsonValue {
  if (depth > depthMax) throw refused(`A value is nested more than ${depthMax} levels deep.`);
  if (value === null) return { nullValue: null };
  if (typeof value === 'boolean') return { booleanValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw refused('A number is too large.');
    return { doubleValue: value };
  }
  if (value instanceof WholeNumber) return integer(value);
  if (Array.isArray(value)) {
    if (value.some(Array.isArray)) throw refused('An array stands directly in an array, which Firestore cannot hold.');
    const values = value.map((element) => typedValue(element, database, depth + 1));
    return { arrayValue: values.length === 0 ? {} : { values } };
  }
  const object = value as PlainObject;
  return tagged(object, database) ?? mapOf(object, database, depth);
}

function integer({ text }: WholeNumber): JsonValue {
  const whole = BigInt(text);
  if (BigInt.asIntN(64, whole) === whole) return { integerValue: String(whole) };
  // A double that was written without its exponent is what it says; any other number of this size would be rounded.
  const double = Number(text);
  if (!Number.isFinite(double) || BigInt(double) !== whole)
    throw refused(`The number ${text.slice(0, 40)} is too large.`);
  return { doubleValue: double };
}

function mapOf(object: PlainObject, database: string, depth: number): JsonValue {
  const entries = Object.entries(object).map(([key, value]) => {
    requireFieldName(key);
    return [key, typedValue(value, database, depth + 1)] as const;
  });
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
  if (instant === undefined) throw refused(`${text} is not a time.`);
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
  if (typeof number !== 'number' || !Number.isFinite(number)) throw refused('A tagged value is damaged.');
  return number;
}

function refused(message: string): EngineError {
  return new EngineError('VALIDATION_ERROR', message);
}
