import type { JsonFields, JsonValue } from '../format/document-json.ts';
import type { DocumentPlace } from './document-place.ts';
import type { JsonCursor } from './json-reader.ts';
import { requireFieldName, shownName } from './names.ts';
import { NumberText } from './number-text.ts';
import {
  bytesOfText,
  depthMax,
  geoPointValue,
  isVector,
  referenceValue,
  timestampOfText,
  vectorTypeField,
} from './storable.ts';

export interface TypedContext {
  readonly place: DocumentPlace;
  /** The database that the values were read from. */
  readonly from: string;
  /** The importing database: references inside the exported database are moved to it. */
  readonly database: string;
}

/**
 * Fields in the typed form of Firestore's REST interface (`{"integerValue": "1"}`), as Holdfast writes them: every
 * value has exactly its type. They are built while they are read, so that a large document is not in memory twice.
 */
export function readTypedFields(json: JsonCursor, context: TypedContext): JsonFields {
  const fields = fieldsAt(json, context, false);
  if (deepest(Object.values(fields)) > depthMax)
    throw context.place.refused(`has values nested more than ${depthMax} levels deep`);
  return fields;
}

/** A vector counts as one value, although it is written as a map. */
function depthOf(value: JsonValue): number {
  if ('mapValue' in value) {
    const { fields = {} } = value.mapValue;
    return isVector(fields) ? 0 : 1 + deepest(Object.values(fields));
  }
  return 'arrayValue' in value ? 1 + deepest(value.arrayValue.values ?? []) : 0;
}

function deepest(values: readonly JsonValue[]): number {
  return values.reduce((depth, value) => Math.max(depth, depthOf(value)), 0);
}

function fieldsAt(json: JsonCursor, context: TypedContext, isInMap: boolean): JsonFields {
  const { place } = context;
  if (!json.isObject) throw place.refused('has fields that are no object');
  const fields = Object.create(null) as Record<string, JsonValue>;
  for (const name of json.keys())
    place.inField(name, () => {
      if (!isInMap || name !== vectorTypeField) requireFieldName(name, place);
      if (name in fields) throw place.refused('stands in it twice');
      fields[name] = valueAt(json, context);
    });
  return fields;
}

function valueAt(json: JsonCursor, context: TypedContext): JsonValue {
  const { place } = context;
  if (!json.isObject) throw place.refused('is no object that tells the type of its value');
  let value: JsonValue | undefined;
  for (const type of json.keys()) {
    if (value !== undefined) throw place.refused('has more than one value');
    const read = readers.get(type);
    if (!read) throw place.refused(`has the type ${shownName(type)}, which is not known`);
    value = read(json, context);
  }
  if (value === undefined) throw place.refused('has no value');
  return value;
}

type Reader = (json: JsonCursor, context: TypedContext) => JsonValue;

/** A document may have a million of these. */
const [none, yes, no]: JsonValue[] = [{ nullValue: null }, { booleanValue: true }, { booleanValue: false }];

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['nullValue', (json, { place }) => (json.value() === null ? none! : wrong(place, 'null that is none'))],
  ['booleanValue', (json, { place }) => booleanOf(json.value(), place)],
  ['integerValue', (json, { place }) => integerOf(json.value(), place)],
  ['doubleValue', (json, { place }) => ({ doubleValue: doubleOf(json.value(), place) })],
  ['timestampValue', (json, { place }) => ({ timestampValue: timestampOfText(json.value(), place) })],
  ['stringValue', (json, { place }) => ({ stringValue: textOf(json.value(), place) })],
  ['bytesValue', (json, { place }) => bytesOfText(json.value(), place)],
  ['referenceValue', referenceAt],
  ['geoPointValue', geoPointAt],
  ['arrayValue', arrayAt],
  ['mapValue', mapAt],
]);

function wrong(place: DocumentPlace, what: string): never {
  throw place.refused(`is a ${what}`);
}

function booleanOf(value: unknown, place: DocumentPlace): JsonValue {
  if (typeof value !== 'boolean') return wrong(place, 'boolean that is neither true nor false');
  return value ? yes! : no!;
}

function integerOf(value: unknown, place: DocumentPlace): JsonValue {
  const integer = typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt(value) : undefined;
  if (integer === undefined || BigInt.asIntN(64, integer) !== integer || String(integer) !== value)
    return wrong(place, 'integer that is not a whole number of 64 bits, as a text');
  return { integerValue: value };
}

function doubleOf(value: unknown, place: DocumentPlace): number | 'NaN' | 'Infinity' | '-Infinity' {
  if (value === 'NaN' || value === 'Infinity' || value === '-Infinity') return value;
  const double = value instanceof NumberText ? value.double : undefined;
  return double ?? wrong(place, 'double that is no number, or would be rounded');
}

function textOf(value: unknown, place: DocumentPlace): string {
  return typeof value === 'string' ? value : wrong(place, 'text that is none');
}

function referenceAt(json: JsonCursor, { place, from, database }: TypedContext): JsonValue {
  const [, owner, path] = /^(projects\/[^/]+\/databases\/[^/]+)\/documents\/(.*)$/s.exec(String(json.value())) ?? [];
  if (owner === undefined || path === undefined)
    return wrong(place, 'reference that is not the whole name of a document');
  return referenceValue(owner === from ? database : owner, path.split('/'), place);
}

function geoPointAt(json: JsonCursor, { place }: TypedContext): JsonValue {
  const { latitude, longitude, ...others } = (json.value() ?? {}) as Record<string, unknown>;
  const isPair = latitude instanceof NumberText && longitude instanceof NumberText && Object.keys(others).length === 0;
  const [north, east] = isPair ? [latitude.double, longitude.double] : [];
  if (north === undefined || east === undefined)
    return wrong(place, 'geopoint without a latitude and longitude that are kept exactly');
  return geoPointValue(north, east, place);
}

function arrayAt(json: JsonCursor, context: TypedContext): JsonValue {
  const { place } = context;
  const values: JsonValue[] = [];
  for (const _ of onlyKey(json, 'values', place)) {
    if (!json.isArray) return wrong(place, 'array whose values are no list');
    for (const _element of json.elements()) {
      const value = place.inElement(values.length, () => valueAt(json, context));
      if ('arrayValue' in value)
        throw place.refused('is an array with an array directly in it, which Firestore cannot hold');
      values.push(value);
    }
  }
  return { arrayValue: values.length === 0 ? {} : { values } };
}

function mapAt(json: JsonCursor, context: TypedContext): JsonValue {
  let fields: JsonFields | undefined;
  for (const _ of onlyKey(json, 'fields', context.place)) fields = fieldsAt(json, context, true);
  if (fields === undefined || Object.keys(fields).length === 0) return { mapValue: {} };
  if (vectorTypeField in fields && !isVector(fields))
    throw context.place.refused('has a name that is reserved by Firestore');
  return { mapValue: { fields } };
}

/** An array or map has its contents under one key, or nothing if it is empty. */
function* onlyKey(json: JsonCursor, key: string, place: DocumentPlace): Generator<void> {
  if (!json.isObject) throw place.refused('is an array or map that is no object');
  let isFirst = true;
  for (const name of json.keys()) {
    if (name !== key || !isFirst) throw place.refused(`has ${shownName(name)} where only ${shownName(key)} may be`);
    isFirst = false;
    yield;
  }
}
