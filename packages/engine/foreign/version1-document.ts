import { encodeDocument, type JsonFields } from '../format/document-json.ts';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError } from '../ports/errors.ts';
import { recordKind } from '../ports/record.ts';
import { pathTo, requireFieldName } from './names.ts';
import { isPlainObject, type PlainObject, typedValue } from './plain-json.ts';

/** These hold collections whatever else the document has; the others only beside `data`. */
export const alwaysCollections = ['__collections__', 'subCollections'];
const collectionKeys = [...alwaysCollections, 'collections', 'subcollections'];
const wrapperKeys = new Set([
  'id',
  'path',
  'name',
  'data',
  'exists',
  '__exists__',
  'createTime',
  'updateTime',
  ...collectionKeys,
]);

/** A document that is held whole, and the collections in it. */
export function* documentIn(document: unknown, path: string, database: string): Generator<UnsortedRecord> {
  if (!isPlainObject(document)) throw new EngineError('VALIDATION_ERROR', `${path} is not a document.`);
  const isWrapped = isPlainObject(document.data) && Object.keys(document).every((key) => wrapperKeys.has(key));
  const content = isWrapped ? (document.data as PlainObject) : document;
  const nested = collectionKeys.filter(
    (key) => isContainer(document[key]) && (isWrapped || alwaysCollections.includes(key)),
  );
  const fields = Object.create(null) as Record<string, JsonFields[string]>;
  for (const [name, value] of Object.entries(content)) {
    if (!isWrapped && nested.includes(name)) continue;
    requireFieldName(name);
    fields[name] = typedValue(value, database);
  }
  const isMissing = document.__exists__ === false || document.exists === false;
  const name = `${database}/documents/${path}`;
  if (!(isWrapped && isMissing)) yield { kind: recordKind.put, path, body: encodeDocument({ name, fields }) };
  for (const key of nested) yield* collectionsIn(document[key], path, database);
}

export function* collectionsIn(given: unknown, parent: string, database: string): Generator<UnsortedRecord> {
  for (const [id, collection] of entriesOf(given, parent || 'the file')) {
    const path = pathBelow(parent, id);
    const documents =
      isPlainObject(collection) && isContainer(collection.documents) ? collection.documents : collection;
    for (const [documentId, document] of entriesOf(documents, path))
      yield* documentIn(document, pathTo(path, documentId), database);
  }
}

/** Some writers name subcollections by their whole path. */
export function pathBelow(parent: string, id: string): string {
  return pathTo(parent, parent !== '' && id.startsWith(`${parent}/`) ? id.slice(parent.length + 1) : id);
}

function isContainer(value: unknown): boolean {
  return isPlainObject(value) || Array.isArray(value);
}

/** Objects by id, or arrays whose elements say their id. */
function entriesOf(given: unknown, where: string): [string, unknown][] {
  if (isPlainObject(given)) return Object.entries(given);
  if (!Array.isArray(given))
    throw new EngineError('VALIDATION_ERROR', `There are no documents where they should be, in ${where}.`);
  return given.map((element: unknown): [string, unknown] => {
    const id = isPlainObject(element) ? (element.id ?? element.name) : undefined;
    if (typeof id !== 'string') throw new EngineError('VALIDATION_ERROR', `An entry of ${where} has no id.`);
    return [id, element];
  });
}
