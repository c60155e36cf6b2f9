import type { JsonFields, JsonValue } from '../format/document-json.ts';
import type { DocumentPlace } from './document-place.ts';
import { requireFieldName, shownName } from './names.ts';
import { NumberText } from './number-text.ts';
import { isPlainObject, type PlainObject } from './parsed-json.ts';
import { bytesOfText, depthMax, geoPointValue, referenceValue, timestampOfText, timestampValue } from './storable.ts';

/** Converts plain JSON to typed fields. Understands the tags that exporters use for values that JSON does not have. */
export function typedFields(object: PlainObject, place: DocumentPlace, database: string, depth = 0): JsonFields {
  const fields = Object.create(null) as Record<string, JsonValue>;
  for (const name of Object.keys(object))
    fields[name] = place.inField(name, () => {
      requireFieldName(name, place);
      return typedValue(object[name], place, database, depth);
    });
  return fields;
}

/** `depth` counts the maps and arrays around the value. */
function typedValue(value: unknown, place: DocumentPlace, database: string, depth: number): JsonValue {
  if (value === null) return { nullValue: null };
  if (typeof value === 'boolean') return { booleanValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (value instanceof NumberText) return number(value, place);
  const tag = isPlainObject(value) ? tagged(value, place, database) : undefined;
  if (tag) return tag;
  if (depth >= depthMax) throw place.refused(`is nested more than ${depthMax} levels deep`);
  if (!Array.isArray(value)) {
    const fields = typedFields(value as PlainObject, place, database, depth + 1);
    return { mapValue: Object.keys(fields).length === 0 ? {} : { fields } };
  }
  if (value.some(Array.isArray))
    throw place.refused('is an array with an array directly in it, which Firestore cannot hold');
  const values = value.map((element, index) =>
    place.inElement(index, () => typedValue(element, place, database, depth + 1)),
  );
  return { arrayValue: values.length === 0 ? {} : { values } };
}

function number(given: NumberText, place: DocumentPlace): JsonValue {
  const whole = given.isWhole ? BigInt(given.text) : undefined;
  if (whole !== undefined && BigInt.asIntN(64, whole) === whole) return { integerValue: String(whole) };
  const { double } = given;
  if (double !== undefined) return { doubleValue: double };
  const isLarge = whole !== undefined || !Number.isFinite(Number(given.text));
  throw place.refused(`is a number that ${isLarge ? 'is too large' : 'has too many digits'} and would be rounded`);
}

function tagged(object: PlainObject, place: DocumentPlace, database: string): JsonValue | undefined {
  const key = '__datatype__' in object ? '__datatype__' : '__type__';
  const type = object[key];
  if (typeof type === 'string') {
    if (!hasOnly(object, key, 'value')) throw place.refused(`is tagged and has more or less than ${key} and value`);
    return byTag(type, object.value, place, database);
  }
  if (hasOnly(object, '_seconds', '_nanoseconds')) return timestamp(object, place);
  if (hasOnly(object, '_latitude', '_longitude')) return geoPoint(object, place);
  return stringified(object, place, database);
}

/** References, bytes and vectors of Google's client, as `JSON.stringify` writes them. */
function stringified(object: PlainObject, place: DocumentPlace, database: string): JsonValue | undefined {
  const { _firestore: owner, _path: path, _converter: _, ...others } = object;
  const isReference = isPlainObject(owner) && isPlainObject(path) && Object.keys(others).length === 0;
  if (isReference && isTexts(path.segments)) return referenceValue(database, path.segments, place);
  if (hasOnly(object, 'type', 'data') && object.type === 'Buffer') {
    const values = Array.isArray(object.data) ? object.data.map(byteOf) : [undefined];
    if (values.every((value) => value !== undefined)) return { bytesValue: Buffer.from(values).toString('base64') };
  }
  return Object.keys(object).length === 1 ? vector(object._values) : undefined;
}

function vector(values: unknown): JsonValue | undefined {
  if (!Array.isArray(values) || values.length === 0) return undefined;
  const doubles: JsonValue[] = [];
  for (const one of values) {
    const double = one instanceof NumberText ? one.double : undefined;
    if (double === undefined) return undefined;
    doubles.push({ doubleValue: double });
  }
  const fields = { __type__: { stringValue: '__vector__' }, value: { arrayValue: { values: doubles } } };
  return { mapValue: { fields } };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function byteOf(value: unknown): number | undefined {
  return value instanceof NumberText && /^\d{1,3}$/.test(value.text) && Number(value.text) < 256
    ? Number(value.text)
    : undefined;
}

function byTag(type: string, value: unknown, place: DocumentPlace, database: string): JsonValue {
  if (type === 'timestamp') return timestamp(value, place);
  if (type === 'geopoint') return geoPoint(value, place);
  if (type === 'documentReference' || type === 'reference') return reference(value, place, database);
  if (type === 'bytes' || type === 'buffer') return bytesOfText(value, place);
  throw place.refused(`has the tag ${shownName(type)}, which is not known`);
}

function timestamp(value: unknown, place: DocumentPlace): JsonValue {
  if (typeof value === 'string') return { timestampValue: timestampOfText(value, place) };
  const [seconds, nanos] = pair(value, '_seconds', '_nanoseconds') ?? pair(value, 'seconds', 'nanoseconds') ?? [];
  if (!Number.isInteger(seconds) || !Number.isInteger(nanos))
    throw place.refused('is a timestamp without whole seconds and nanoseconds');
  return timestampValue(seconds as number, nanos as number, place);
}

function geoPoint(value: unknown, place: DocumentPlace): JsonValue {
  const [latitude, longitude] = pair(value, '_latitude', '_longitude') ?? pair(value, 'latitude', 'longitude') ?? [];
  if (latitude === undefined || longitude === undefined)
    throw place.refused('is a geopoint without a latitude and longitude that are kept exactly');
  return geoPointValue(latitude, longitude, place);
}

/** The full name of a document, or its path in the importing database. */
function reference(value: unknown, place: DocumentPlace, database: string): JsonValue {
  if (typeof value !== 'string') throw place.refused('is a reference that is not a text');
  const [, owner, path] = /^(projects\/[^/]+\/databases\/[^/]+)\/documents\/(.*)$/s.exec(value) ?? [];
  return referenceValue(owner ?? database, (path ?? value).split('/'), place);
}

function hasOnly(object: PlainObject, first: string, second: string): boolean {
  return first in object && second in object && Object.keys(object).length === 2;
}

/**
 * The numbers under these two names, if there is nothing else; undefined for a value that is no number or would be
 * rounded.
 */
function pair(value: unknown, first: string, second: string): (number | undefined)[] | undefined {
  if (!isPlainObject(value) || !hasOnly(value, first, second)) return undefined;
  return [value[first], value[second]].map((one) => (one instanceof NumberText ? one.double : undefined));
}
