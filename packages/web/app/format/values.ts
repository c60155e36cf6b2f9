import type { DataOf, Operations } from '@holdfast/contract';

export type BackupDocument = DataOf<Operations['getBackupDocument']>;
export type Fields = BackupDocument['fields'];
export type FirestoreValue = Fields[string];

export type ValueType =
  | 'null'
  | 'boolean'
  | 'integer'
  | 'double'
  | 'timestamp'
  | 'string'
  | 'bytes'
  | 'reference'
  | 'geopoint'
  | 'array'
  | 'vector'
  | 'map';

const types: readonly [keyof FirestoreValue, ValueType][] = [
  ['booleanValue', 'boolean'],
  ['integerValue', 'integer'],
  ['doubleValue', 'double'],
  ['timestampValue', 'timestamp'],
  ['stringValue', 'string'],
  ['bytesValue', 'bytes'],
  ['referenceValue', 'reference'],
  ['geoPointValue', 'geopoint'],
  ['arrayValue', 'array'],
  ['mapValue', 'map'],
];

export function typeOf(value: FirestoreValue): ValueType {
  if (vectorOf(value)) return 'vector';
  return types.find(([key]) => value[key] !== undefined)?.[1] ?? 'null';
}

/** REST writes a vector as a map with two artificial fields. */
function vectorOf({ mapValue }: FirestoreValue): FirestoreValue['arrayValue'] {
  const { __type__: type, value, ...rest } = mapValue?.fields ?? {};
  const isVector = type?.stringValue === '__vector__' && Object.keys(rest).length === 0;
  return isVector ? value?.arrayValue : undefined;
}

/** The entries of an array or of a vector. */
export function entriesOf(value: FirestoreValue): readonly FirestoreValue[] | undefined {
  const list = value.arrayValue ?? vectorOf(value);
  return list && (list.values ?? []);
}

const isMap = (value: FirestoreValue | undefined) => value?.mapValue !== undefined && vectorOf(value) === undefined;

/** Two maps are compared field by field; anything else as a whole. */
export const areMaps = (a: FirestoreValue | undefined, b: FirestoreValue | undefined) => isMap(a) && isMap(b);

/** Always with a point, so that it does not look like an integer. */
export function doubleText(value: number | string): string {
  if (typeof value === 'string') return value;
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** `projects/p/databases/d/documents/users/ada` → `users/ada`. */
export function pathOfReference(name: string): string {
  return name.replace(/^projects\/[^/]+\/databases\/[^/]+\/documents\//, '');
}

/** `projects/p/databases/d/documents/users/ada` → `p`, with its database where that is not the one every project begins with. */
export function databaseOfReference(name: string): string {
  const [, project = '', , database = ''] = name.split('/');
  return database === '(default)' ? project : `${project}/${database}`;
}

/** Where references into this database lead: `to` is given the path of the document. */
export function linksInto(
  project: { sourceProjectId: string; databaseId: string } | undefined,
  to: (path: string) => string,
): (name: string) => string | undefined {
  const start = project && `projects/${project.sourceProjectId}/databases/${project.databaseId}/documents/`;
  return (name) => (start && name.startsWith(start) ? to(name.slice(start.length)) : undefined);
}

/** A hint of a folded value: the keys of a map, the first values of an array or a vector. */
export function hintOf(value: FirestoreValue): string {
  const entries = entriesOf(value);
  if (!entries) return Object.keys(value.mapValue?.fields ?? {}).join(', ');
  const glimpse = (entry: FirestoreValue) =>
    entry.doubleValue === undefined
      ? (entry.stringValue ?? entry.integerValue ?? typeOf(entry))
      : doubleText(entry.doubleValue);
  return entries.slice(0, 4).map(glimpse).join(', ');
}

export interface FieldRow {
  /** The path of the field, unique in the document. */
  readonly id: string;
  readonly name: string;
  readonly depth: number;
  readonly value: FirestoreValue;
}

/** What lies directly below a value. */
function childrenOf(value: FirestoreValue): [string, FirestoreValue][] {
  const entries = entriesOf(value);
  if (!entries) return sortedEntries(value.mapValue?.fields ?? {});
  return entries.map((entry, index) => [String(index), entry]);
}

function sortedEntries(fields: Fields): [string, FirestoreValue][] {
  return Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The rows of a document with the folds in `open` unfolded. */
export function rowsOf(fields: Fields, open: ReadonlySet<string>): FieldRow[] {
  const rows: FieldRow[] = [];
  const add = (entries: [string, FirestoreValue][], parent: string, depth: number) => {
    for (const [name, value] of entries) {
      const id = parent ? `${parent}\0${name}` : name;
      rows.push({ id, name, depth, value });
      if (open.has(id)) add(childrenOf(value), id, depth + 1);
    }
  };
  add(sortedEntries(fields), '', 0);
  return rows;
}

export function isSameValue(a: FirestoreValue | undefined, b: FirestoreValue | undefined): boolean {
  return JSON.stringify(canonical(a)) === JSON.stringify(canonical(b));
}

/** Ignores the order of fields; a missing document equals nothing. */
export const isSameDocument = (a: Fields | null, b: Fields | null): boolean =>
  a === null || b === null ? a === b : isSameValue({ mapValue: { fields: a } }, { mapValue: { fields: b } });

/** Where two strings begin and end to differ; never splits a surrogate pair. */
export function changedPart(text: string, other: string): { start: number; end: number } {
  const most = Math.min(text.length, other.length);
  let start = 0;
  while (start < most && text[start] === other[start]) start++;
  let left = 0;
  while (left < most - start && text[text.length - 1 - left] === other[other.length - 1 - left]) left++;
  const isHalf = (at: number) => /[\uDC00-\uDFFF]/.test(text[at] ?? '');
  let end = text.length - left;
  while (start > 0 && isHalf(start)) start--;
  while (end < text.length && isHalf(end)) end++;
  return { start, end };
}

/** Ignores the order of a map's fields. */
function canonical(value: FirestoreValue | undefined): unknown {
  if (value === undefined) return null;
  if (value.mapValue)
    return { map: sortedEntries(value.mapValue.fields ?? {}).map(([name, entry]) => [name, canonical(entry)]) };
  if (value.arrayValue) return { array: (value.arrayValue.values ?? []).map(canonical) };
  // JSON has one zero, Firestore two.
  if (Object.is(value.doubleValue, -0)) return { doubleValue: '-0' };
  return value;
}

export type Change = 'added' | 'removed' | 'changed' | 'same';

export interface DiffRow {
  readonly id: string;
  readonly name: string;
  readonly depth: number;
  readonly then: FirestoreValue | undefined;
  readonly now: FirestoreValue | undefined;
  readonly change: Change;
}

/** A field may have the name of an inherited property, such as constructor. */
const fieldOf = (fields: Fields, name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined);

const nothingOpen: ReadonlySet<string> = new Set();
const childFields = (value: FirestoreValue | undefined): Fields => (value ? Object.fromEntries(childrenOf(value)) : {});

/** Two versions side by side: what differs first, maps that differ opened, what is equal below; folds in `open` unfolded. */
export function diffRows(then: Fields | null, now: Fields | null, open = nothingOpen): DiffRow[] {
  const rows: DiffRow[] = [];
  const add = (a: Fields, b: Fields, parent: string, depth: number) => {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
    // Array entries keep their order.
    if (names.every((name) => /^\d+$/.test(name))) names.sort((one, other) => Number(one) - Number(other));
    const pairs = names.map((name) => {
      const [before, after] = [fieldOf(a, name), fieldOf(b, name)];
      return { name, then: before, now: after, isSame: isSameValue(before, after) };
    });
    const ordered =
      depth === 0 ? [...pairs.filter((pair) => !pair.isSame), ...pairs.filter((pair) => pair.isSame)] : pairs;
    for (const pair of ordered) {
      const id = parent ? `${parent}\0${pair.name}` : pair.name;
      const bothMaps = areMaps(pair.then, pair.now);
      rows.push({
        id,
        name: pair.name,
        depth,
        then: pair.then,
        now: pair.now,
        change: bothMaps && !pair.isSame ? 'same' : changeOf(pair),
      });
      if ((bothMaps && !pair.isSame) || open.has(id)) add(childFields(pair.then), childFields(pair.now), id, depth + 1);
    }
  };
  add(then ?? {}, now ?? {}, '', 0);
  return rows;
}

function changeOf(pair: {
  then: FirestoreValue | undefined;
  now: FirestoreValue | undefined;
  isSame: boolean;
}): Change {
  if (pair.isSame) return 'same';
  if (pair.then === undefined) return 'added';
  return pair.now === undefined ? 'removed' : 'changed';
}
