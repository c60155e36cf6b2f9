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
  return types.find(([key]) => value[key] !== undefined)?.[1] ?? 'null';
}

/** `projects/p/databases/d/documents/users/ada` → `users/ada`. */
export function pathOfReference(name: string): string {
  return name.replace(/^projects\/[^/]+\/databases\/[^/]+\/documents\//, '');
}

/** A glimpse of what is folded: the names of a map, the first strings of an array. */
export function hintOf(value: FirestoreValue): string {
  if (value.mapValue) return Object.keys(value.mapValue.fields ?? {}).join(', ');
  return (value.arrayValue?.values ?? [])
    .slice(0, 4)
    .map((entry) => entry.stringValue ?? entry.integerValue ?? typeOf(entry))
    .join(', ');
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
  if (value.mapValue) return sortedEntries(value.mapValue.fields ?? {});
  return (value.arrayValue?.values ?? []).map((entry, index) => [String(index), entry]);
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

function sameValue(a: FirestoreValue | undefined, b: FirestoreValue | undefined): boolean {
  return JSON.stringify(canonical(a)) === JSON.stringify(canonical(b));
}

/** The order of a map's fields carries no meaning. */
function canonical(value: FirestoreValue | undefined): unknown {
  if (value === undefined) return null;
  if (value.mapValue)
    return { map: sortedEntries(value.mapValue.fields ?? {}).map(([name, entry]) => [name, canonical(entry)]) };
  if (value.arrayValue) return { array: (value.arrayValue.values ?? []).map(canonical) };
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

/** Two versions side by side: what differs first, maps that differ opened, what is equal below. */
export function diffRows(then: Fields | null, now: Fields | null): DiffRow[] {
  const rows: DiffRow[] = [];
  const add = (a: Fields, b: Fields, parent: string, depth: number) => {
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
    const pairs = names.map((name) => ({ name, then: a[name], now: b[name], isSame: sameValue(a[name], b[name]) }));
    const ordered =
      depth === 0 ? [...pairs.filter((pair) => !pair.isSame), ...pairs.filter((pair) => pair.isSame)] : pairs;
    for (const pair of ordered) {
      const id = parent ? `${parent}\0${pair.name}` : pair.name;
      const bothMaps = pair.then?.mapValue !== undefined && pair.now?.mapValue !== undefined;
      rows.push({
        id,
        name: pair.name,
        depth,
        then: pair.then,
        now: pair.now,
        change: bothMaps && !pair.isSame ? 'same' : changeOf(pair),
      });
      if (bothMaps && !pair.isSame)
        add(pair.then?.mapValue?.fields ?? {}, pair.now?.mapValue?.fields ?? {}, id, depth + 1);
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
