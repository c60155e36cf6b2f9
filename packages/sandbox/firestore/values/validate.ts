import { isUtf8 } from 'node:buffer';
import { invalid } from '../transport/status.ts';
import { DOCUMENT_ENTRY, MAP_ENTRY } from './fields.ts';
import { isNumericId } from './key.ts';
import { readTimestamp } from './timestamp.ts';
import { readEntry, TAG, textOf } from './value.ts';
import { WireReader } from './wire.ts';

export const DOCUMENT_BYTES_MAX = 1_048_576;
const DEPTH_MAX = 20;
const FIELD_NAME_BYTES_MAX = 1500;
const TIMESTAMP_SECONDS_MIN = -62_135_596_800;
const TIMESTAMP_SECONDS_MAX = 253_402_300_799;
const VECTOR_DIMENSIONS_MAX = 2048;
const INDEX_ENTRIES_MAX = 40_000;
/** A field stands in an ascending and in a descending index. */
const INDEXES_PER_FIELD = 2;

/**
 * Checks the field entries of a document as production does and returns their size by Firestore's own formula
 * (which is not the encoded size).
 */
export function checkFields(fields: Uint8Array): number {
  const tally: Tally = { indexEntries: 0 };
  const size = checkEntries(fields, 0, fields.length, DOCUMENT_ENTRY, 0, tally);
  if (tally.indexEntries > INDEX_ENTRIES_MAX) throw invalid('too many index entries for entity');
  return size;
}

/** Counted along the way: each field and each array element stands in the automatic indexes, maps by their fields. */
interface Tally {
  indexEntries: number;
}

export function checkDocumentSize(documentName: string, segments: readonly string[], fieldsBytes: number): void {
  const size = nameSize(segments) + fieldsBytes + 32;
  if (size <= DOCUMENT_BYTES_MAX) return;
  throw invalid(
    `Document '${documentName}' cannot be written because its size (${size.toLocaleString('en-US')} bytes) exceeds the ` +
      `maximum allowed size of ${DOCUMENT_BYTES_MAX.toLocaleString('en-US')} bytes.`,
  );
}

/** The size of a document name: each id plus one byte, eight for a numeric id, and sixteen for the whole. */
export function nameSize(segments: readonly string[]): number {
  let size = 16;
  for (const segment of segments) size += isNumericId(segment) ? 8 : Buffer.byteLength(segment) + 1;
  return size;
}

function checkEntries(bytes: Uint8Array, start: number, end: number, tag: number, depth: number, tally: Tally): number {
  const reader = new WireReader(bytes, start, end);
  const seen = new Set<string>();
  let size = 0;
  while (reader.more) {
    const entryStart = reader.position;
    const entryTag = reader.uint32();
    if (entryTag !== tag) throw invalid('A map holds an unknown field.');
    const entry = readEntry(bytes, entryStart, reader.delimited(), reader.position);
    const name = checkName(bytes, entry.keyStart, entry.keyEnd, tag);
    if (seen.has(name)) throw invalid(`Property ${name} is given more than once.`);
    seen.add(name);
    size += entry.keyEnd - entry.keyStart + 1;
    size += checkValue(bytes, entry.valueStart, entry.valueEnd, { depth, inArray: false, name, tally });
  }
  return size;
}

function checkName(bytes: Uint8Array, start: number, end: number, tag: number): string {
  const length = end - start;
  if (length === 0) throw invalid('Property name is empty.');
  if (length > FIELD_NAME_BYTES_MAX) throw invalid(`Property name is longer than ${FIELD_NAME_BYTES_MAX} bytes.`);
  checkUtf8(bytes, start, end, 'A property name');
  const name = textOf(bytes, start, end);
  if (length >= 4 && name.startsWith('__') && name.endsWith('__')) {
    if (tag === DOCUMENT_ENTRY || name !== '__type__') throw invalid(`Property name "${name}" is reserved.`);
  }
  return name;
}

/** Where a value stands. */
interface Place {
  readonly depth: number;
  readonly inArray: boolean;
  /** The field it belongs to, for messages. */
  readonly name: string;
  readonly tally: Tally;
}

function checkValue(bytes: Uint8Array, start: number, end: number, place: Place): number {
  const reader = new WireReader(bytes, start, end);
  if (!reader.more) throw invalid(`Property ${place.name} has a value without a type.`);
  const tag = reader.uint32();
  if (tag !== TAG.map) place.tally.indexEntries += place.inArray ? 1 : INDEXES_PER_FIELD;
  const size = checkAlternative(reader, tag, place);
  if (reader.more) throw invalid(`Property ${place.name} has a value of more than one type.`);
  return size;
}

function checkAlternative(reader: WireReader, tag: number, place: Place): number {
  switch (tag) {
    case TAG.null:
    case TAG.boolean:
      reader.int64();
      return 1;
    case TAG.integer:
      reader.int64();
      return 8;
    case TAG.double:
      reader.double();
      return 8;
    default:
      return checkDelimited(reader, tag, place);
  }
}

function checkDelimited(reader: WireReader, tag: number, place: Place): number {
  const { name, depth } = place;
  if ((tag & 7) !== 2) throw invalid(`Property ${name} has a value of an unknown type.`);
  const { bytes } = reader;
  const start = reader.delimited();
  const end = reader.position;
  switch (tag) {
    case TAG.string:
      checkUtf8(bytes, start, end, `The string of property ${name}`);
      return end - start + 1;
    case TAG.bytes:
      return end - start;
    case TAG.reference:
      return referenceSize(bytes, start, end, name);
    case TAG.timestamp:
      checkTimestamp(bytes, start, end, name);
      return 8;
    case TAG.geoPoint:
      checkGeoPoint(bytes, start, end, name);
      return 16;
    case TAG.array:
      if (place.inArray) throw invalid('Cannot convert an array value in an array value.');
      checkDepth(depth, name);
      return checkArray(bytes, start, end, { ...place, depth: depth + 1, inArray: true });
    case TAG.map:
      checkDepth(depth, name);
      checkVector(bytes, start, end, name);
      return checkEntries(bytes, start, end, MAP_ENTRY, depth + 1, place.tally) + 32;
    default:
      throw invalid(`Property ${name} has a value of a type that cannot be stored.`);
  }
}

function checkDepth(depth: number, name: string): void {
  if (depth >= DEPTH_MAX) throw invalid(`Property ${name} exceeds the maximum nesting depth of ${DEPTH_MAX}.`);
}

function checkArray(bytes: Uint8Array, start: number, end: number, place: Place): number {
  const reader = new WireReader(bytes, start, end);
  let size = 0;
  while (reader.more) {
    if (reader.uint32() !== 0x0a) throw invalid(`Property ${place.name} has a malformed array.`);
    size += checkValue(bytes, reader.delimited(), reader.position, place);
  }
  return size;
}

function checkUtf8(bytes: Uint8Array, start: number, end: number, what: string): void {
  for (let at = start; at < end; at++) {
    if (bytes[at]! < 0x80) continue;
    if (!isUtf8(bytes.subarray(start, end))) throw invalid(`${what} is not valid UTF-8.`);
    return;
  }
}

function referenceSize(bytes: Uint8Array, start: number, end: number, name: string): number {
  checkUtf8(bytes, start, end, `The reference of property ${name}`);
  const parts = textOf(bytes, start, end).split('/');
  const isDocument = parts.length >= 7 && parts.length % 2 === 1 && parts[0] === 'projects' && parts[4] === 'documents';
  if (!isDocument) throw invalid(`Property ${name} holds a reference that names no document.`);
  return nameSize(parts.slice(5));
}

function checkTimestamp(bytes: Uint8Array, start: number, end: number, name: string): void {
  const { seconds, nanos } = readTimestamp(bytes, start, end);
  if (seconds < TIMESTAMP_SECONDS_MIN || seconds > TIMESTAMP_SECONDS_MAX || nanos < 0 || nanos > 999_999_999) {
    throw invalid(`Property ${name} holds a timestamp outside the years 0001 to 9999.`);
  }
}

function checkGeoPoint(bytes: Uint8Array, start: number, end: number, name: string): void {
  const reader = new WireReader(bytes, start, end);
  while (reader.more) {
    const tag = reader.uint32();
    if (tag !== 0x09 && tag !== 0x11) throw invalid(`Property ${name} has a malformed geo point.`);
    const degrees = reader.double();
    const limit = tag === 0x09 ? 90 : 180;
    if (!(Math.abs(degrees) <= limit)) throw invalid(`Property ${name} holds a geo point out of range.`);
  }
}

/** A map with `__type__: "__vector__"` must be a vector: one more entry, `value`, an array of doubles. */
function checkVector(bytes: Uint8Array, start: number, end: number, name: string): void {
  const reader = new WireReader(bytes, start, end);
  let typed = false;
  let dimensions = -1;
  let entries = 0;
  while (reader.more) {
    const entryStart = reader.position;
    reader.uint32();
    const entry = readEntry(bytes, entryStart, reader.delimited(), reader.position);
    const key = entry.keyEnd - entry.keyStart <= 8 ? textOf(bytes, entry.keyStart, entry.keyEnd) : '';
    entries += 1;
    if (key === '__type__') typed = true;
    else if (key === 'value') dimensions = countDoubles(bytes, entry.valueStart, entry.valueEnd);
  }
  if (!typed) return;
  if (entries !== 2 || dimensions < 1) throw invalid(`Property ${name} holds a malformed vector.`);
  if (dimensions > VECTOR_DIMENSIONS_MAX) {
    throw invalid(`Vectors must be at most ${VECTOR_DIMENSIONS_MAX} dimensions; property ${name} has ${dimensions}.`);
  }
}

/** The number of doubles in an array value, or -1 when it is not an array of doubles. */
function countDoubles(bytes: Uint8Array, start: number, end: number): number {
  const outer = new WireReader(bytes, start, end);
  if (!outer.more || outer.uint32() !== TAG.array) return -1;
  const reader = new WireReader(bytes, outer.delimited(), outer.position);
  let count = 0;
  while (reader.more) {
    reader.uint32();
    const at = reader.delimited();
    if (bytes[at] !== TAG.double) return -1;
    count += 1;
  }
  return count;
}
