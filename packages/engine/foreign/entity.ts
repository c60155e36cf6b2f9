import { encodeDocument, type JsonFields, type JsonValue } from '../format/document-json.ts';
import { malformed, ProtobufReader } from '../format/protobuf.ts';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError, isEngineError } from '../ports/errors.ts';
import { recordKind } from '../ports/record.ts';
import { DocumentPlace } from './document-place.ts';
import { pathTo, requireFieldName } from './names.ts';
import {
  depthMax,
  geoPointValue,
  isVector,
  referenceValue,
  requireSize,
  timestampValue,
  vectorTypeField,
  vectorValue,
} from './storable.ts';
import { insideBytes, textOf, type WireField, wireFields } from './wire-fields.ts';

/**
 * The entity message that managed exports hold documents in. EntityProto: key = 13, property = 14, raw_property = 15.
 * Reference: app = 13, path = 14, database_id = 23. Path: group Element = 1 {type = 2, id = 3, name = 4}. Property:
 * meaning = 1, name = 3, multiple = 4, value = 5. PropertyValue: int64 = 1, boolean = 2, string = 3, double = 4,
 * group Point = 5 {x = 6, y = 7}, group Reference = 12 {app = 13, group PathElement = 14 {type = 15, id = 16, name = 17}}.
 * A vector is not the map that Firestore's interface shows, but the elements of an array that mean one.
 */
const meaning = { when: 7, point: 9, blob: 14, byteString: 16, entity: 19, emptyList: 24, vector: 31 } as const;

/** Turns an entity of a file into a document of the importing database. Exports have no document times. */
export function entityRecord(bytes: Uint8Array, database: string, file: string): UnsortedRecord {
  const { entity, app, databaseId, path } = named(file, () => openEntity(bytes));
  const place = new DocumentPlace(path);
  const fields = named(path, () => readProperties(entity, { app, databaseId, database, place, depth: 0 }));
  requireSize(fields, place);
  return { kind: recordKind.put, path, body: encodeDocument({ name: `${database}/documents/${path}`, fields }) };
}

/** Errors inside a record name what was being read. */
function named<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const prefix = `${name} is refused: `;
    if (!isEngineError(error) || error.message.startsWith(prefix)) throw error;
    throw new EngineError(error.code, `${prefix}${error.message}`, { cause: error });
  }
}

function openEntity(bytes: Uint8Array): EntityKey & { entity: WireField[] } {
  const entity = [...wireFields(new ProtobufReader(bytes))];
  const key = entity.find(({ number }) => number === 13);
  if (key === undefined) throw malformed();
  return { entity, ...readKey(key.inside) };
}

const defaultDatabaseId = '(default)';

interface EntityKey {
  readonly app: string;
  /** Of the database that was exported. */
  readonly databaseId: string;
  readonly path: string;
}

/** References of the same app and database are references into the database that is being imported. */
interface ReferenceContext extends Omit<EntityKey, 'path'> {
  readonly database: string;
  readonly place: DocumentPlace;
  readonly depth: number;
}

function readKey(reader: ProtobufReader): EntityKey {
  let app = '';
  let databaseId = defaultDatabaseId;
  const segments: string[] = [];
  for (const { number, inside } of wireFields(reader)) {
    if (number === 13) app = textOf(inside);
    else if (number === 23) databaseId = textOf(inside) || defaultDatabaseId;
    else if (number === 14) {
      for (const element of wireFields(inside))
        if (element.number === 1) segments.push(...pathElement(element.inside, 2));
    }
  }
  return { app, databaseId, path: segments.reduce(pathTo, '') };
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
  const vectors = new Map<string, JsonValue[]>();
  const { place } = context;
  for (const { number, inside } of fields) {
    if (number !== 14 && number !== 15) continue;
    const property = readProperty(inside);
    const { name, isMultiple } = property;
    place.inField(name, () => {
      if (name !== vectorTypeField || context.depth === 0) requireFieldName(name, place);
      const values = isMultiple ? arrays.get(name) : undefined;
      if ((name in result || vectors.has(name)) && values === undefined) throw place.refused('stands in it twice');
      const read = () => readValue(property, context);
      if (property.means === meaning.emptyList) result[name] = { arrayValue: {} };
      else if (!isMultiple) result[name] = read();
      else if (values) values.push(place.inElement(values.length, read));
      else {
        const started = [place.inElement(0, read)];
        arrays.set(name, started);
        if (property.means === meaning.vector) vectors.set(name, started);
        else result[name] = { arrayValue: { values: started } };
      }
    });
  }
  for (const [name, values] of vectors) place.inField(name, () => (result[name] = vectorValue(values, place)));
  return result;
}

interface Property {
  readonly name: string;
  readonly means: number;
  readonly isMultiple: boolean;
  readonly value: WireField | undefined;
}

function readProperty(reader: ProtobufReader): Property {
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
  return { name, means, isMultiple, value };
}

function readValue({ value: field, means }: Property, context: ReferenceContext): JsonValue {
  if (field === undefined) return { nullValue: null };
  if (field.number === 1)
    return means === meaning.when ? timestamp(field.varint, context) : { integerValue: String(field.varint) };
  if (field.number === 2) return { booleanValue: field.varint !== 0n };
  if (field.number === 3) return readString(field.inside, means, context);
  if (field.number === 4) return { doubleValue: doubleText(field.double) };
  if (field.number === 5) return readPoint(field.inside, context);
  if (field.number === 12) return readReference(field.inside, context);
  throw context.place.refused('has a value of a kind that is not known');
}

function timestamp(micros: bigint, { place }: ReferenceContext): JsonValue {
  const seconds = micros / 1_000_000n - (micros % 1_000_000n < 0n ? 1n : 0n);
  return timestampValue(Number(seconds), Number(micros - seconds * 1_000_000n) * 1000, place);
}

function readString(inside: ProtobufReader, means: number, context: ReferenceContext): JsonValue {
  if (means === meaning.blob || means === meaning.byteString)
    return { bytesValue: Buffer.from(insideBytes(inside)).toString('base64') };
  if (means !== meaning.entity) return { stringValue: textOf(inside, context.place) };
  if (context.depth >= depthMax) throw context.place.refused(`is nested more than ${depthMax} levels deep`);
  const fields = readProperties([...wireFields(inside)], { ...context, depth: context.depth + 1 });
  if (vectorTypeField in fields && !isVector(fields))
    throw context.place.refused('has a name that is reserved by Firestore');
  return { mapValue: Object.keys(fields).length === 0 ? {} : { fields } };
}

/** A missing coordinate is not a number and is refused. */
function readPoint(inside: ProtobufReader, { place }: ReferenceContext): JsonValue {
  let latitude = Number.NaN;
  let longitude = Number.NaN;
  for (const { number, double } of wireFields(inside)) {
    if (number === 6) latitude = double;
    else if (number === 7) longitude = double;
  }
  return geoPointValue(latitude, longitude, place);
}

/** A reference of the same app that names no database points into the same database. */
function readReference(inside: ProtobufReader, { app: ownApp, database, place, ...own }: ReferenceContext): JsonValue {
  let app = '';
  let databaseId = '';
  const segments: string[] = [];
  for (const { number, inside: value } of wireFields(inside)) {
    if (number === 13) app = textOf(value, place);
    else if (number === 14) segments.push(...pathElement(value, 15));
    else if (number === 23) databaseId = textOf(value, place);
  }
  const isOwn = app === ownApp && (databaseId === '' || databaseId === own.databaseId);
  const other = `projects/${app.replace(/^[a-z]~/, '')}/databases/${databaseId || defaultDatabaseId}`;
  return referenceValue(isOwn ? database : other, segments, place);
}

function doubleText(value: number): number | 'NaN' | 'Infinity' | '-Infinity' {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return value;
  return value > 0 ? 'Infinity' : '-Infinity';
}
