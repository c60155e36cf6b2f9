/** The fields of a document, for merging it into another: maps are entered, everything else is one leaf. */

import { endOfVarint, readLength, readTag, skipField } from '../../../ports/wire.ts';

const mapValue = 0x32;
const documentEntry = 0x12;
const mapEntry = 0x0a;
const entryKey = 0x0a;
const entryValue = 0x12;
const simpleName = /^[A-Za-z_][A-Za-z_0-9]*$/;
/** Vectors and other special values are maps with a reserved key; they are replaced whole, like scalars. */
const reservedName = /^__.*__$/;

/** A value; a vector, which is stored as a map but is replaced as a whole; or a map, by its field names. */
export type Field = 'value' | 'vector' | Fields;
/**
 * A tree and not a list of paths: with long names, the paths of ten thousand fields are hundreds of times larger than
 * the document.
 */
export type Fields = ReadonlyMap<string, Field>;

interface Entry {
  readonly key: string;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** `bytes` are the serialized fields of a Document. */
export function fieldsOf(bytes: Buffer): Fields {
  return fieldsAmong(bytes, entriesOf(bytes, 0, bytes.length, documentEntry));
}

function fieldsAmong(bytes: Buffer, entries: readonly Entry[]): Fields {
  return new Map(entries.map((entry) => [entry.key, fieldAt(bytes, entry)]));
}

function fieldAt(bytes: Buffer, entry: Entry): Field {
  const map = mapContent(bytes, entry);
  if (map === undefined) return 'value';
  const entries = entriesOf(bytes, map.start, map.end, mapEntry);
  return entries.some(({ key }) => reservedName.test(key)) ? 'vector' : fieldsAmong(bytes, entries);
}

function mapContent(bytes: Buffer, entry: Entry): { start: number; end: number } | undefined {
  if (entry.valueStart >= entry.valueEnd || readTag(bytes, entry.valueStart) !== mapValue) return undefined;
  const length = readLength(bytes, endOfVarint(), entry.valueEnd);
  return { start: endOfVarint(), end: endOfVarint() + length };
}

function entriesOf(bytes: Buffer, start: number, end: number, entryTag: number): Entry[] {
  const entries: Entry[] = [];
  let position = start;
  while (position < end) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    const next = skipField(bytes, tag, contentAt, end);
    if (tag === entryTag) {
      const length = readLength(bytes, contentAt, end);
      entries.push(readEntry(bytes, next - length, next));
    }
    position = next;
  }
  return entries;
}

function readEntry(bytes: Buffer, start: number, end: number): Entry {
  let key = '';
  let valueStart = end;
  let valueEnd = end;
  let position = start;
  while (position < end) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    const next = skipField(bytes, tag, contentAt, end);
    if (tag === entryKey) key = bytes.toString('utf8', next - readLength(bytes, contentAt, end), next);
    if (tag === entryValue) {
      valueStart = next - readLength(bytes, contentAt, end);
      valueEnd = next;
    }
    position = next;
  }
  return { key, valueStart, valueEnd };
}

/** Quotes names that are not plain words with backticks. */
export function formatName(name: string): string {
  return simpleName.test(name) ? name : `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
