import { encodeDocument, type JsonFields } from '../format/document-json.ts';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import type { BlobStore, CallOptions } from '../ports/blob-store.ts';
import { EngineError } from '../ports/errors.ts';
import { recordKind } from '../ports/record.ts';
import { isPlainObject, type PlainObject, parseKeepingIntegers, typedValue } from './plain-json.ts';

/** Version 1 wrote one file and read it in one piece; it never wrote larger ones. */
const fileBytesMax = 256 * 1024 * 1024;

/**
 * The single file of version 1: collections hold documents by id, documents hold fields and collections again. The
 * shapes that were written over time differ in how they set fields and collections apart:
 *
 *     {"users": {"ada": {"name": "Ada", "__collections__": {"orders": {…}}}}}
 *     {"__collections__": {"users": {…}}}, {"collections": {"users": {…}}}
 *     {"collections": {"users": {"documents": {"ada": {"data": {…}, "collections": {…}}}}}}
 *     {"collections": [{"id": "users", "documents": [{"id": "ada", "data": {…}, "subcollections": […]}]}]}
 */
export async function* readVersion1Json(
  store: BlobStore,
  key: string,
  database: string,
  options: CallOptions = {},
): AsyncGenerator<UnsortedRecord> {
  const bytes = await store.get(key, { ...options, bytesMax: fileBytesMax });
  const root = parse(bytes, key);
  const collections = root.__collections__ ?? root.collections ?? withoutHeader(root);
  yield* readCollections(collections, '', database);
}

function parse(bytes: Uint8Array, key: string): PlainObject {
  try {
    const root = parseKeepingIntegers(Buffer.from(bytes).toString('utf8'));
    if (isPlainObject(root)) return root;
  } catch (cause) {
    if (cause instanceof EngineError) throw cause;
    throw new EngineError('VALIDATION_ERROR', `${key} is not readable as JSON; it may be cut short.`, { cause });
  }
  throw new EngineError('VALIDATION_ERROR', `${key} holds no collections.`);
}

/** Without a key that says where the collections are, everything that looks like one is one. */
function withoutHeader(root: PlainObject): PlainObject {
  return Object.fromEntries(
    Object.entries(root).filter(([name, value]) => isPlainObject(value) && !headerKeys.has(name)),
  );
}

const headerKeys = new Set(['metadata', 'meta', 'info', '__metadata__']);
const collectionKeys = ['__collections__', 'collections', 'subcollections', 'subCollections'];

function* readCollections(given: unknown, parent: string, database: string): Generator<UnsortedRecord> {
  for (const [id, collection] of entriesOf(given, parent || 'the file')) {
    // Some writers name subcollections by their whole path.
    const path = parent === '' || id.startsWith(`${parent}/`) ? id : `${parent}/${id}`;
    const documents =
      isPlainObject(collection) && isContainer(collection.documents) ? collection.documents : collection;
    for (const [documentId, document] of entriesOf(documents, path))
      yield* readDocument(`${path}/${documentId}`, document, database);
  }
}

function* readDocument(path: string, document: unknown, database: string): Generator<UnsortedRecord> {
  if (!isPlainObject(document)) throw new EngineError('VALIDATION_ERROR', `${path} is not a document.`);
  const isWrapped = isPlainObject(document.data) && Object.keys(document).every((key) => wrapperKeys.has(key));
  const content = isWrapped ? (document.data as PlainObject) : document;
  const nested = collectionKeys.filter(
    (key) => isContainer(document[key]) && (isWrapped || key === '__collections__' || key === 'subCollections'),
  );
  const fields = Object.create(null) as Record<string, JsonFields[string]>;
  for (const [name, value] of Object.entries(content)) {
    if (!isWrapped && nested.includes(name)) continue;
    fields[name] = typedValue(value, database);
  }
  const isMissing = document.__exists__ === false || document.exists === false;
  const name = `${database}/documents/${path}`;
  if (!(isWrapped && isMissing)) yield { kind: recordKind.put, path, body: encodeDocument({ name, fields }) };
  for (const key of nested) yield* readCollections(document[key], path, database);
}

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
