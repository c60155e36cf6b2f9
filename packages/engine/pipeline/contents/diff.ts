import { decodeDocument, type JsonFields, type JsonValue } from '../../format/document-json.ts';
import { canonicalValue } from '../../format/same-content.ts';
import { comparePaths } from '../../ports/path-order.ts';
import { type RecordBatch, recordKind } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';

/** One field that differs; `path` is a field path in Firestore's syntax. */
export interface FieldChange {
  readonly path: string;
  readonly before: JsonValue | null;
  readonly after: JsonValue | null;
}

/** The change of one document between two sides. */
export type DocumentChange =
  | {
      readonly kind: 'added' | 'removed';
      readonly path: string;
      readonly fields: JsonFields;
      readonly updateTime: string | undefined;
    }
  | { readonly kind: 'changed'; readonly path: string; readonly changes: readonly FieldChange[] };

/** Anything that yields puts in path order: a view's records, or the scan of a live database. */
export interface DiffSide {
  readonly database: string;
  readonly records: AsyncIterable<RecordBatch>;
}

interface SideDocument {
  readonly path: string;
  readonly body: Uint8Array;
}

/**
 * The changes from `before` to `after`, in path order: `added` exists only in `after`, `removed` only in `before`.
 * Contents are compared and not times: the same fields written again are no change. References are compared relative to
 * their database, so that a database restored elsewhere equals its original. `onCompared` is called for each document
 * of `before` after its comparison.
 */
export async function* diffSides(
  before: DiffSide,
  after: DiffSide,
  onCompared: (path: string) => void = () => {},
): AsyncGenerator<DocumentChange> {
  const left = documentsOf(before);
  const right = documentsOf(after);
  let [here, there] = [await left.next(), await right.next()];
  while (!here.done || !there.done) {
    const order = here.done ? 1 : there.done ? -1 : comparePaths(here.value.path, there.value.path);
    if (order < 0) {
      const { path, body } = here.value as SideDocument;
      yield oneSided('removed', path, body);
      onCompared(path);
      here = await left.next();
    } else if (order > 0) {
      const { path, body } = there.value as SideDocument;
      yield oneSided('added', path, body);
      there = await right.next();
    } else {
      const [old, young] = [here.value as SideDocument, there.value as SideDocument];
      const changes = changesBetween(old.body, young.body, before.database, after.database);
      if (changes.length > 0) yield { kind: 'changed', path: old.path, changes };
      onCompared(old.path);
      [here, there] = [await left.next(), await right.next()];
    }
  }
}

function oneSided(kind: 'added' | 'removed', path: string, body: Uint8Array): DocumentChange {
  const { fields, updateTime } = decodeDocument(body);
  return { kind, path, fields, updateTime };
}

async function* documentsOf({ database, records }: DiffSide): AsyncGenerator<SideDocument> {
  for await (const batch of records) {
    for (const { kind, path, body } of readRecords(batch, database)) if (kind === recordKind.put) yield { path, body };
  }
}

function changesBetween(old: Uint8Array, young: Uint8Array, oldDatabase: string, youngDatabase: string): FieldChange[] {
  if (oldDatabase === youngDatabase && Buffer.compare(old, young) === 0) return [];
  const relative = relativeReferences([oldDatabase, youngDatabase]);
  const [before, after] = [decodeDocument(old).fields, decodeDocument(young).fields];
  const changes = compareFields('', before, after, { relative, isDeep: true });
  return areShort(changes) ? changes : compareFields('', before, after, { relative, isDeep: false });
}

const changesMax = 20_000;
const pathLengthMax = 6144;
const pathsLengthMax = 1024 * 1024;

/** Below long names of maps the paths of one document may come to gigabytes: then its maps are told as wholes. */
function areShort(changes: readonly FieldChange[]): boolean {
  let length = 0;
  for (const { path } of changes) {
    if (path.length > pathLengthMax) return false;
    length += path.length;
  }
  return length <= pathsLengthMax && changes.length <= changesMax;
}

/** References into either of the two databases count as equal: a restore moves them from one to the other. */
function relativeReferences(databases: readonly string[]): (reference: string) => string {
  return (reference) => {
    const own = databases.find((database) => reference.startsWith(`${database}/`));
    return own === undefined ? reference : reference.slice(own.length);
  };
}

interface Comparing {
  readonly relative: (reference: string) => string;
  /** Whether what differs in a map is told field by field. */
  readonly isDeep: boolean;
}

function compareFields(prefix: string, before: JsonFields, after: JsonFields, comparing: Comparing): FieldChange[] {
  const changes: FieldChange[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const path = prefix === '' ? fieldName(key) : `${prefix}.${fieldName(key)}`;
    const [old, young] = [before[key], after[key]];
    const areMaps = old !== undefined && young !== undefined && 'mapValue' in old && 'mapValue' in young;
    const found =
      areMaps && comparing.isDeep
        ? compareFields(path, old.mapValue.fields ?? empty, young.mapValue.fields ?? empty, comparing)
        : isSame(old, young, comparing.relative)
          ? []
          : [{ path, before: old ?? null, after: young ?? null }];
    for (const change of found) changes.push(change);
  }
  return changes;
}

/** Without a prototype: a field may be named `constructor`, which every other object has. */
const empty: JsonFields = Object.create(null);

function isSame(
  old: JsonValue | undefined,
  young: JsonValue | undefined,
  relative: (reference: string) => string,
): boolean {
  if (old === undefined || young === undefined) return old === young;
  return canonicalValue(old, relative) === canonicalValue(young, relative);
}

function fieldName(key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? key : `\`${key.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}
