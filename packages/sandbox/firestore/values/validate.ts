import { invalid } from '../transport/status.ts';
import { documentEntry, mapEntry } from './fields.ts';
import { isNumericId } from './key.ts';
import { type MapEntry, mapEntries, readEntry, textOf, valueTag } from './value.ts';
import { isGeoPoint, isText, isTimestamp, isUnderscored, kindOfMap } from './well-formed.ts';
import { WireReader } from './wire.ts';

const documentBytesMax = 1_048_576;
const depthMax = 20;
const fieldNameBytesMax = 1500;
/** Of one string or bytes. */
const valueBytesMax = 1_048_487;
const indexEntriesMax = 40_000;
/** A field stands in an ascending and in a descending index. */
const indexesPerField = 2;

const none: ReadonlySet<string> = new Set();

/**
 * Checks the field entries of a document as production does and returns their size by Firestore's own formula
 * (which is not the encoded size).
 */
export function checkFields(fields: Uint8Array, unindexed: ReadonlySet<string> = none): number {
  const tally: Tally = { indexEntries: 0, unindexed };
  const size = checkEntries(fields, 0, fields.length, documentEntry, 0, tally);
  if (tally.indexEntries > indexEntriesMax) throw invalid('too many index entries for entity');
  return size;
}

/**
 * Counted during the check: each field and each array element has entries in the automatic indexes, maps by their
 * fields.
 */
interface Tally {
  indexEntries: number;
  /** Fields of the document that stand in no index. */
  readonly unindexed: ReadonlySet<string>;
}

export function checkDocumentSize(documentName: string, segments: readonly string[], fieldsBytes: number): void {
  const size = nameSize(segments) + fieldsBytes + 32;
  if (size <= documentBytesMax) return;
  throw invalid(
    `Document '${documentName}' cannot be written because its size (${size.toLocaleString('en-US')} bytes) exceeds the ` +
      `maximum allowed size of ${documentBytesMax.toLocaleString('en-US')} bytes.`,
  );
}

/** The size of a document name: each id plus one byte, eight for a numeric id, and sixteen for the whole. */
function nameSize(segments: readonly string[]): number {
  let size = 16;
  for (const segment of segments) size += isNumericId(segment) ? 8 : Buffer.byteLength(segment) + 1;
  return size;
}

function checkEntries(bytes: Uint8Array, start: number, end: number, tag: number, depth: number, tally: Tally): number {
  const reader = new WireReader(bytes, start, end);
  const seen = new Set<number>();
  let size = 0;
  while (reader.more) {
    const entryStart = reader.position;
    const entryTag = reader.uint32();
    if (entryTag !== tag) throw invalid('A map holds an unknown field.');
    const entry = readEntry(bytes, entryStart, reader.delimited(), reader.position);
    checkName(bytes, entry, tag);
    const hash = hashOf(bytes, entry.keyStart, entry.keyEnd);
    if (seen.has(hash)) checkDistinct(bytes, start, end, tag);
    seen.add(hash);
    size += entry.keyEnd - entry.keyStart + 1;
    const indexEntries = tally.indexEntries;
    size += checkValue(bytes, entry.valueStart, entry.valueEnd, { depth, inArray: false, field: entry, tally });
    const isExempt = tag === documentEntry && tally.unindexed.size > 0 && tally.unindexed.has(nameOf(bytes, entry));
    if (isExempt) tally.indexEntries = indexEntries;
  }
  return size;
}

/** FNV-1a: names are compared by number, and as text only when two numbers are equal. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash;
}

function checkDistinct(bytes: Uint8Array, start: number, end: number, tag: number): void {
  const seen = new Set<string>();
  for (const entry of mapEntries(bytes, start, end, tag)) {
    const name = nameOf(bytes, entry);
    if (seen.has(name)) throw invalid(`Property ${name} is given more than once.`);
    seen.add(name);
  }
}

function nameOf(bytes: Uint8Array, field: MapEntry): string {
  return textOf(bytes, field.keyStart, field.keyEnd);
}

function checkName(bytes: Uint8Array, field: MapEntry, tag: number): void {
  const { keyStart: start, keyEnd: end } = field;
  const length = end - start;
  if (length === 0) throw invalid('Property name is empty.');
  if (length > fieldNameBytesMax) throw invalid(`Property name is longer than ${fieldNameBytesMax} bytes.`);
  if (!isText(bytes, start, end)) throw invalid('A property name is not valid UTF-8.');
  if (length < 4 || !isUnderscored(bytes, start) || !isUnderscored(bytes, end - 2)) return;
  const name = nameOf(bytes, field);
  if (tag === documentEntry || name !== '__type__') throw invalid(`Property name "${name}" is reserved.`);
}

/** The position of a value. */
interface Place {
  readonly depth: number;
  readonly inArray: boolean;
  /** The field it belongs to, for messages. */
  readonly field: MapEntry;
  readonly tally: Tally;
}

function checkValue(bytes: Uint8Array, start: number, end: number, place: Place): number {
  const reader = new WireReader(bytes, start, end);
  if (!reader.more) refuse(bytes, place, 'has a value without a type');
  const tag = reader.uint32();
  if (tag !== valueTag.map) place.tally.indexEntries += place.inArray ? 1 : indexesPerField;
  const size = checkAlternative(reader, tag, place);
  if (reader.more) refuse(bytes, place, 'has a value of more than one type');
  return size;
}

function checkAlternative(reader: WireReader, tag: number, place: Place): number {
  switch (tag) {
    case valueTag.null:
    case valueTag.boolean:
      reader.int64();
      return 1;
    case valueTag.integer:
      reader.int64();
      return 8;
    case valueTag.double:
      reader.double();
      return 8;
    default:
      return checkDelimited(reader, tag, place);
  }
}

function checkDelimited(reader: WireReader, tag: number, place: Place): number {
  const { bytes } = reader;
  if ((tag & 7) !== 2) refuse(bytes, place, 'has a value of an unknown type');
  const start = reader.delimited();
  const end = reader.position;
  switch (tag) {
    case valueTag.string:
      if (!isText(bytes, start, end)) refuse(bytes, place, 'holds a string that is not valid UTF-8');
      checkLength(bytes, start, end, place);
      return end - start + 1;
    case valueTag.bytes:
      checkLength(bytes, start, end, place);
      return end - start;
    case valueTag.reference:
      return referenceSize(bytes, start, end, place);
    case valueTag.timestamp:
      if (!isTimestamp(bytes, start, end)) refuse(bytes, place, 'holds a timestamp outside the years 0001 to 9999');
      return 8;
    case valueTag.geoPoint:
      if (!isGeoPoint(bytes, start, end)) refuse(bytes, place, 'holds a geo point out of range');
      return 16;
    case valueTag.array:
      if (place.inArray) throw invalid('Cannot convert an array value in an array value.');
      checkDepth(bytes, place);
      return checkArray(bytes, start, end, { ...place, depth: place.depth + 1, inArray: true });
    case valueTag.map:
      checkDepth(bytes, place);
      checkVector(bytes, start, end, place);
      return checkEntries(bytes, start, end, mapEntry, place.depth + 1, place.tally) + 32;
    default:
      return refuse(bytes, place, 'has a value of a type that cannot be stored');
  }
}

/** The field's name is only decoded here, because most values are fine. */
function refuse(bytes: Uint8Array, place: Place, what: string): never {
  throw invalid(`Property ${nameOf(bytes, place.field)} ${what}.`);
}

function checkLength(bytes: Uint8Array, start: number, end: number, { field }: Place): void {
  if (end - start <= valueBytesMax) return;
  throw invalid(`The value of property "${nameOf(bytes, field)}" is longer than ${valueBytesMax} bytes.`);
}

function checkVector(bytes: Uint8Array, start: number, end: number, place: Place): void {
  const kind = kindOfMap(bytes, start, end);
  if (kind === 'malformed vector') refuse(bytes, place, 'holds a malformed vector');
  if (kind === 'vector' && place.inArray) throw invalid('Cannot convert a vector value in an array value.');
}

function checkDepth(bytes: Uint8Array, place: Place): void {
  if (place.depth >= depthMax) refuse(bytes, place, `exceeds the maximum nesting depth of ${depthMax}`);
}

function checkArray(bytes: Uint8Array, start: number, end: number, place: Place): number {
  const reader = new WireReader(bytes, start, end);
  let size = 0;
  while (reader.more) {
    if (reader.uint32() !== 0x0a) refuse(bytes, place, 'has a malformed array');
    size += checkValue(bytes, reader.delimited(), reader.position, place);
  }
  return size;
}

function referenceSize(bytes: Uint8Array, start: number, end: number, place: Place): number {
  const parts = isText(bytes, start, end) ? textOf(bytes, start, end).split('/') : [];
  const isDocument = parts.length >= 7 && parts.length % 2 === 1 && parts[0] === 'projects' && parts[4] === 'documents';
  if (!isDocument) refuse(bytes, place, 'holds a reference that names no document');
  return nameSize(parts.slice(5));
}
