/** The leaves of a document as field paths, for merging it into another: maps are entered, all else is one leaf. */

import { endOfVarint, readLength, readTag, skipField } from '../../../ports/wire.ts';

const mapValue = 0x32;
const documentEntry = 0x12;
const mapEntry = 0x0a;
const entryKey = 0x0a;
const entryValue = 0x12;
const simpleName = /^[A-Za-z_][A-Za-z_0-9]*$/;
/** Vectors and other special values are maps with a reserved key; they are replaced whole, like scalars. */
const reservedName = /^__.*__$/;

export interface FieldLeaf {
  readonly segments: readonly string[];
  /** An empty map: merged into an existing map it changes nothing, otherwise it is written. */
  readonly isEmptyMap: boolean;
  /** A value that is stored as a map and is none: what comes as a map replaces it. */
  readonly isVector: boolean;
}

interface Entry {
  readonly key: string;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** `bytes[start, end)` are the serialized fields of a Document. */
export function leavesOf(bytes: Buffer, start: number, end: number): FieldLeaf[] {
  const leaves: FieldLeaf[] = [];
  for (const entry of entriesOf(bytes, start, end, documentEntry)) collect(bytes, entry, [], leaves);
  return leaves;
}

function collect(bytes: Buffer, entry: Entry, above: readonly string[], leaves: FieldLeaf[]): void {
  const segments = [...above, entry.key];
  const map = mapContent(bytes, entry);
  const entries = map === undefined ? [] : entriesOf(bytes, map.start, map.end, mapEntry);
  const isVector = entries.some(({ key }) => reservedName.test(key));
  if (map === undefined || entries.length === 0 || isVector) {
    leaves.push({ segments, isEmptyMap: map !== undefined && entries.length === 0, isVector });
    return;
  }
  for (const inner of entries) collect(bytes, inner, segments, leaves);
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

/** Whether the serialized fields hold a map at this place. */
export function hasMapAt(bytes: Buffer, start: number, end: number, segments: readonly string[]): boolean {
  let [from, to, tag] = [start, end, documentEntry];
  for (const segment of segments) {
    const entry = entriesOf(bytes, from, to, tag).find(({ key }) => key === segment);
    const map = entry === undefined ? undefined : mapContent(bytes, entry);
    if (map === undefined) return false;
    [from, to, tag] = [map.start, map.end, mapEntry];
  }
  return !entriesOf(bytes, from, to, tag).some(({ key }) => reservedName.test(key));
}

/** Names that are not plain words stand in backticks. */
export function formatFieldPath(segments: readonly string[]): string {
  return segments
    .map((name) => (simpleName.test(name) ? name : `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``))
    .join('.');
}
