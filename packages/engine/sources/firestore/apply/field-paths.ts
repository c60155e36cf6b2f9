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

/** `bytes` are the serialized fields of a Document. */
export function leavesOf(bytes: Buffer): FieldLeaf[] {
  return shapeOf(bytes).leaves;
}

export interface Shape {
  readonly leaves: FieldLeaf[];
  /** The paths of all maps, empty ones too. Looked up and not walked to: a document may hold tens of thousands. */
  readonly maps: Set<string>;
}

export function shapeOf(bytes: Buffer): Shape {
  const shape: Shape = { leaves: [], maps: new Set() };
  for (const entry of entriesOf(bytes, 0, bytes.length, documentEntry)) collect(bytes, entry, [], shape);
  return shape;
}

function collect(bytes: Buffer, entry: Entry, above: readonly string[], shape: Shape): void {
  const segments = [...above, entry.key];
  const map = mapContent(bytes, entry);
  const entries = map === undefined ? [] : entriesOf(bytes, map.start, map.end, mapEntry);
  const isVector = entries.some(({ key }) => reservedName.test(key));
  if (map !== undefined && !isVector) shape.maps.add(formatFieldPath(segments));
  if (map === undefined || entries.length === 0 || isVector) {
    shape.leaves.push({ segments, isEmptyMap: map !== undefined && entries.length === 0, isVector });
    return;
  }
  for (const inner of entries) collect(bytes, inner, segments, shape);
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

/** Names that are not plain words stand in backticks. */
export function formatFieldPath(segments: readonly string[]): string {
  return segments
    .map((name) => (simpleName.test(name) ? name : `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``))
    .join('.');
}
