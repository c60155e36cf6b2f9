import { encodeDocument, type JsonFields, type JsonValue } from '../format/document-json.ts';
import { malformed, ProtobufReader } from '../format/protobuf.ts';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError, isEngineError } from '../ports/errors.ts';
import { instantFromParts } from '../ports/instant.ts';
import { recordKind } from '../ports/record.ts';
import { pathTo, requireFieldName } from './names.ts';
import { insideBytes, textOf, type WireField, wireFields } from './wire-fields.ts';

/**
 * The entity message that managed exports hold documents in. EntityProto: key = 13, property = 14, raw_property = 15.
 * Reference: app = 13, path = 14, database_id = 23. Path: group Element = 1 {type = 2, id = 3, name = 4}. Property:
 * meaning = 1, name = 3, multiple = 4, value = 5. PropertyValue: int64 = 1, boolean = 2, string = 3, double = 4,
 * group Point = 5 {x = 6, y = 7}, group Reference = 12 {app = 13, group PathElement = 14 {type = 15, id = 16, name = 17}}.
 */
const meaning = { when: 7, point: 9, blob: 14, byteString: 16, entity: 19, emptyList: 24 } as const;

interface Entity {
  readonly path: string;
  readonly fields: JsonFields;
}

/** Firestore's documents are nested twenty levels deep at most, and have 1 MiB at most. */
const depthMax = 20;
const documentBytesMax = 1024 * 1024;

/** The document of an entity, as it is imported into a database. Exports carry no times. */
export function entityRecord(bytes: Uint8Array, database: string): UnsortedRecord {
  const { path, fields } = decodeEntity(bytes, database);
  if (textBytes({ mapValue: { fields } }) > documentBytesMax)
    throw new EngineError('VALIDATION_ERROR', `${path} is refused: no document of Firestore is larger than 1 MiB.`);
  return { kind: recordKind.put, path, body: encodeDocument({ name: `${database}/documents/${path}`, fields }) };
}

function decodeEntity(bytes: Uint8Array, database: string): Entity {
  const fields = [...wireFields(new ProtobufReader(bytes))];
  const key = fields.find(({ number }) => number === 13);
  if (key === undefined) throw malformed();
  const { app, path } = readKey(key.inside);
  try {
    return { path, fields: readProperties(fields, { app, database, depth: 0 }) };
  } catch (error) {
    if (!isEngineError(error, 'VALIDATION_ERROR')) throw error;
    throw new EngineError('VALIDATION_ERROR', `${path} is refused: ${error.message}`, { cause: error });
  }
}

/** What the texts and bytes of a value take alone: less than Firestore counts. */
function textBytes(value: JsonValue): number {
  if ('stringValue' in value) return Buffer.byteLength(value.stringValue as string);
  if ('bytesValue' in value) return Buffer.byteLength(value.bytesValue as string, 'base64');
  const { mapValue, arrayValue } = value as {
    mapValue?: { fields?: JsonFields };
    arrayValue?: { values?: JsonValue[] };
  };
  const inside = mapValue ? Object.values(mapValue.fields ?? {}) : (arrayValue?.values ?? []);
  return inside.reduce((sum, one) => sum + textBytes(one), 0);
}

/** References of the same app are references into the database that is being imported. */
interface ReferenceContext {
  readonly app: string;
  readonly database: string;
  readonly depth: number;
}

function readKey(reader: ProtobufReader): { app: string; path: string } {
  let app = '';
  const segments: string[] = [];
  for (const { number, inside } of wireFields(reader)) {
    if (number === 13) app = textOf(inside);
    else if (number === 14) {
      for (const element of wireFields(inside))
        if (element.number === 1) segments.push(...pathElement(element.inside, 2));
    }
  }
  return { app, path: segments.reduce(pathTo, '') };
}

/** The three fields of a path element follow each other; `first` is the number of its type. */
function pathElement(reader: ProtobufReader, first: number): [string, string] {
  let type = '';
  let id = '';
  for (const { number, varint, inside } of wireFields(reader)) {
    if (number === first) type = textOf(inside);
    else if (number === first + 1) id = `__id${varint}__`;
    else if (number === first + 2) id = textOf(inside);
  }
  return [type, id];
}

/** Values of one name with `multiple` set are the elements of one array. */
function readProperties(fields: readonly WireField[], context: ReferenceContext): JsonFields {
  const result = Object.create(null) as Record<string, JsonValue>;
  const arrays = new Map<string, JsonValue[]>();
  for (const { number, inside } of fields) {
    if (number !== 14 && number !== 15) continue;
    const property = readProperty(inside, context);
    requireFieldName(property.name);
    const isKnown = property.name in result && !(property.isMultiple && arrays.has(property.name));
    if (isKnown)
      throw new EngineError('VALIDATION_ERROR', `the field ${property.name.slice(0, 60)} stands in it twice.`);
    if (property.isEmptyList) result[property.name] = { arrayValue: {} };
    else if (!property.isMultiple) result[property.name] = property.value;
    else {
      const values = arrays.get(property.name) ?? [];
      values.push(property.value);
      arrays.set(property.name, values);
      result[property.name] = { arrayValue: { values } };
    }
  }
  return result;
}

interface Property {
  readonly name: string;
  readonly isMultiple: boolean;
  readonly isEmptyList: boolean;
  readonly value: JsonValue;
}

function readProperty(reader: ProtobufReader, context: ReferenceContext): Property {
  let name = '';
  let means = 0;
  let isMultiple = false;
  let value: WireField | undefined;
  for (const { number, varint, inside } of wireFields(reader)) {
    if (number === 1) means = Number(varint);
    else if (number === 3) name = textOf(inside);
    else if (number === 4) isMultiple = varint !== 0n;
    else if (number === 5) for (const field of wireFields(inside)) value = field;
  }
  return { name, isMultiple, isEmptyList: means === meaning.emptyList, value: readValue(value, means, context) };
}

function readValue(field: WireField | undefined, means: number, context: ReferenceContext): JsonValue {
  if (field === undefined) return { nullValue: null };
  if (field.number === 1)
    return means === meaning.when ? timestamp(field.varint) : { integerValue: String(field.varint) };
  if (field.number === 2) return { booleanValue: field.varint !== 0n };
  if (field.number === 3) return readString(field.inside, means, context);
  if (field.number === 4) return { doubleValue: doubleText(field.double) };
  if (field.number === 5) return readPoint(field.inside);
  if (field.number === 12) return { referenceValue: readReference(field.inside, context) };
  throw malformed();
}

function timestamp(micros: bigint): JsonValue {
  const seconds = micros / 1_000_000n - (micros % 1_000_000n < 0n ? 1n : 0n);
  return { timestampValue: instantFromParts(Number(seconds), Number(micros - seconds * 1_000_000n) * 1000) };
}

function readString(inside: ProtobufReader, means: number, context: ReferenceContext): JsonValue {
  if (means === meaning.blob || means === meaning.byteString)
    return { bytesValue: Buffer.from(insideBytes(inside)).toString('base64') };
  if (means !== meaning.entity) return { stringValue: textOf(inside) };
  if (context.depth >= depthMax)
    throw new EngineError('VALIDATION_ERROR', `a value is nested more than ${depthMax} levels deep.`);
  const fields = readProperties([...wireFields(inside)], { ...context, depth: context.depth + 1 });
  return { mapValue: Object.keys(fields).length === 0 ? {} : { fields } };
}

function readPoint(inside: ProtobufReader): JsonValue {
  let latitude = 0;
  let longitude = 0;
  for (const { number, double } of wireFields(inside)) {
    if (number === 6) latitude = double;
    else if (number === 7) longitude = double;
  }
  return { geoPointValue: { latitude, longitude } };
}

function readReference(inside: ProtobufReader, { app: ownApp, database }: ReferenceContext): string {
  let app = '';
  let databaseId = '(default)';
  const segments: string[] = [];
  for (const { number, inside: value } of wireFields(inside)) {
    if (number === 13) app = textOf(value);
    else if (number === 14) segments.push(...pathElement(value, 15));
    else if (number === 23) databaseId = textOf(value) || databaseId;
  }
  const owner = app === ownApp ? database : `projects/${app.replace(/^[a-z]~/, '')}/databases/${databaseId}`;
  return `${owner}/documents/${segments.join('/')}`;
}

function doubleText(value: number): number | 'NaN' | 'Infinity' | '-Infinity' {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return value;
  return value > 0 ? 'Infinity' : '-Infinity';
}
