import type { FieldPath } from './field-path.ts';
import { mapEntries, readEntry, textOf, valueTag } from './value.ts';
import { kindOfMap } from './well-formed.ts';
import { lengthDelimited, varintBytes, WireReader, WireWriter } from './wire.ts';

/** Tag of a field entry in a Document, and of an entry in a MapValue. */
export const documentEntry = 0x12;
export const mapEntry = 0x0a;

const nothing = Buffer.alloc(0);

/** A place in a byte array that holds one encoded Value. */
export interface ValueRange {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Fields by name in the order they were written, each as an encoded Value. */
export type FieldMap = Map<string, Uint8Array>;

/** The name and the field entries of an encoded Document. Bytes that already lie together are not copied. */
export function splitDocument(bytes: Uint8Array): { name: string; fields: Uint8Array } {
  const reader = new WireReader(bytes);
  let name = '';
  const runs: { start: number; end: number }[] = [];
  while (reader.more) {
    const start = reader.position;
    const tag = reader.uint32();
    if (tag === 0x0a) name = textOf(bytes, reader.delimited(), reader.position);
    else {
      reader.skip(tag & 7);
      if (tag === documentEntry) extendRuns(runs, start, reader.position);
    }
  }
  if (runs.length === 1) return { name, fields: bytes.subarray(runs[0]!.start, runs[0]!.end) };
  return { name, fields: Buffer.concat(runs.map((run) => bytes.subarray(run.start, run.end))) };
}

function extendRuns(runs: { start: number; end: number }[], start: number, end: number): void {
  const last = runs.at(-1);
  if (last?.end === start) last.end = end;
  else runs.push({ start, end });
}

/** Finds a field by path in an encoded Document or in bare field entries. */
export function findField(bytes: Uint8Array, path: FieldPath, start = 0, end = bytes.length): ValueRange | null {
  let found = findEntry(bytes, start, end, documentEntry, path[0]!);
  for (let index = 1; index < path.length && found !== null; index++) {
    const map = mapContent(found);
    found = map === null ? null : findEntry(bytes, map.start, map.end, mapEntry, path[index]!);
  }
  return found;
}

/** The content of a map value, or null when the value is of another type. A vector is written like a map, but has no fields. */
function mapContent(value: ValueRange): ValueRange | null {
  const reader = new WireReader(value.bytes, value.start, value.end);
  if (!reader.more || reader.uint32() !== valueTag.map) return null;
  const content = { bytes: value.bytes, start: reader.delimited(), end: reader.position };
  return kindOfMap(content.bytes, content.start, content.end) === 'vector' ? null : content;
}

function findEntry(bytes: Uint8Array, start: number, end: number, tag: number, name: string): ValueRange | null {
  const reader = new WireReader(bytes, start, end);
  while (reader.more) {
    const entryStart = reader.position;
    const entryTag = reader.uint32();
    if (entryTag !== tag) {
      reader.skip(entryTag & 7);
      continue;
    }
    const entry = readEntry(bytes, entryStart, reader.delimited(), reader.position);
    if (sameText(bytes, entry.keyStart, entry.keyEnd, name)) {
      return { bytes, start: entry.valueStart, end: entry.valueEnd };
    }
  }
  return null;
}

function sameText(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start < text.length) return false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return textOf(bytes, start, end) === text;
    if (bytes[start + index] !== code) return false;
  }
  return end - start === text.length;
}

export function parseFields(bytes: Uint8Array, tag: number, start = 0, end = bytes.length): FieldMap {
  const fields: FieldMap = new Map();
  for (const entry of mapEntries(bytes, start, end, tag)) {
    fields.set(textOf(bytes, entry.keyStart, entry.keyEnd), bytes.subarray(entry.valueStart, entry.valueEnd));
  }
  return fields;
}

export function encodeFields(fields: FieldMap, tag: number): Buffer {
  const writer = new WireWriter();
  for (const [name, value] of fields) {
    const key = Buffer.from(name, 'utf8');
    const length = 1 + varintBytes(key.length) + key.length + 1 + varintBytes(value.length) + value.length;
    writer.varint(tag).varint(length).tag(1, lengthDelimited).varint(key.length).raw(key);
    writer.tag(2, lengthDelimited).varint(value.length).raw(value);
  }
  return writer.finish();
}

export function encodeMapValue(fields: FieldMap): Buffer {
  return new WireWriter().delimited(6, encodeFields(fields, mapEntry)).finish();
}

/** Sets a field by path, or deletes it when `value` is null. Maps on the way are made, values of other types replaced. */
export function setField(fields: FieldMap, path: FieldPath, value: Uint8Array | null): void {
  const [name, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) {
    if (value === null) fields.delete(name);
    else fields.set(name, value);
    return;
  }
  const inner = innerFields(fields.get(name));
  if (inner === null && value === null) return;
  const next = inner ?? new Map();
  setField(next, rest, value);
  fields.set(name, encodeMapValue(next));
}

export function getField(fields: FieldMap, path: FieldPath): Uint8Array | null {
  let value: Uint8Array | undefined = fields.get(path[0]!);
  for (const name of path.slice(1)) value = innerFields(value)?.get(name);
  return value ?? null;
}

function innerFields(value: Uint8Array | undefined): FieldMap | null {
  if (value === undefined) return null;
  const map = mapContent({ bytes: value, start: 0, end: value.length });
  return map === null ? null : parseFields(value, mapEntry, map.start, map.end);
}

/** Keeps only the fields a mask names, in their stored order and their stored bytes. */
export function projectFields(bytes: Uint8Array, mask: readonly FieldPath[], tag = documentEntry): Buffer {
  if (mask.length === 0) return nothing;
  const kept: FieldMap = new Map();
  for (const [name, value] of parseFields(bytes, tag)) {
    const matching = mask.filter((path) => path[0] === name);
    if (matching.length === 0) continue;
    if (matching.some((path) => path.length === 1)) kept.set(name, value);
    else keepInner(kept, name, value, matching);
  }
  return encodeFields(kept, tag);
}

function keepInner(kept: FieldMap, name: string, value: Uint8Array, mask: readonly FieldPath[]): void {
  const map = mapContent({ bytes: value, start: 0, end: value.length });
  if (map === null) return;
  const inner = projectFields(
    value.subarray(map.start, map.end),
    mask.map((path) => path.slice(1)),
    mapEntry,
  );
  if (inner.length > 0) kept.set(name, new WireWriter(inner.length + 8).delimited(6, inner).finish());
}
