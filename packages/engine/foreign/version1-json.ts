import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError } from '../ports/errors.ts';
import { type ByteSource, JsonReader } from './json-reader.ts';
import { pathTo } from './names.ts';
import { isPlainObject, type PlainObject } from './plain-json.ts';
import { alwaysCollections, collectionsIn, documentIn, pathBelow } from './version1-document.ts';

/**
 * The single file of version 1: collections hold documents by id, documents hold fields and collections again. The
 * shapes that were written over time differ in how they set fields and collections apart:
 *
 *     {"users": {"ada": {"name": "Ada", "__collections__": {"orders": {…}}}}}
 *     {"__collections__": {"users": {…}}}, {"collections": {"users": {…}}}
 *     {"collections": {"users": {"documents": {"ada": {"data": {…}, "collections": {…}}}}}}
 *     {"collections": [{"id": "users", "documents": [{"id": "ada", "data": {…}, "subcollections": […]}]}]}
 *
 * It is walked as its bytes come; one document at a time is held. What could be read in two ways is refused.
 */
export function* readVersion1Json(source: ByteSource, key: string, database: string): Generator<UnsortedRecord> {
  const walk = new Walk(new JsonReader(source, key), key, database);
  let isEmpty = true;
  for (const record of walk.file()) {
    isEmpty = false;
    yield record;
  }
  if (isEmpty)
    throw invalid(`${key} holds no documents in a shape that is known: collections hold documents by their ids.`);
}

/** What says something about the file, or about a collection, and is not part of it. */
const headerKeys = new Set(['metadata', 'meta', 'info', '__metadata__']);

class Walk {
  readonly #json: JsonReader;
  readonly #key: string;
  readonly #database: string;

  constructor(json: JsonReader, key: string, database: string) {
    this.#json = json;
    this.#key = key;
    this.#database = database;
  }

  /** Without a key that says where the collections are, everything that looks like one is one. */
  *file(): Generator<UnsortedRecord> {
    if (!this.#json.isObject) throw invalid(`${this.#key} holds no collections.`);
    let found: 'named' | 'bare' | undefined;
    let listed: string | undefined;
    for (const name of this.#json.keys()) {
      const isName = name === '__collections__' || name === 'collections';
      if (isName && this.#isContainer) {
        if (found) throw invalid(`${this.#key}: it cannot be told where its collections are.`);
        found = 'named';
        yield* this.#collections('');
      } else if (found !== 'named' && this.#json.isObject && !headerKeys.has(name)) {
        found = 'bare';
        yield* this.#collection(pathTo('', name));
      } else {
        if (this.#json.isArray && !headerKeys.has(name)) listed ??= name;
        this.#json.skip();
      }
    }
    this.#json.finish();
    // A list has no ids: its documents would be left out without a word.
    if (found !== 'named' && listed !== undefined)
      throw invalid(`${this.#key}: ${listed} is a list, but a collection holds its documents by their ids.`);
  }

  get #isContainer(): boolean {
    return this.#json.isObject || this.#json.isArray;
  }

  *#collections(parent: string): Generator<UnsortedRecord> {
    if (this.#json.isObject) for (const id of this.#json.keys()) yield* this.#collection(pathBelow(parent, id));
    else if (this.#json.isArray) for (const _ of this.#json.elements()) yield* this.#listedCollection(parent);
    else throw noDocuments(parent || 'the file');
  }

  /** Documents by id, or an object that has them under `documents`. */
  *#collection(path: string): Generator<UnsortedRecord> {
    if (!this.#json.isObject) return yield* this.#documents(path);
    let hasWrapper = false;
    let documents = 0;
    const others: string[] = [];
    for (const id of this.#json.keys()) {
      if (id === 'documents' && this.#isContainer && documents === 0) {
        hasWrapper = true;
        yield* this.#documents(path);
      } else if (hasWrapper) this.#json.skip();
      else if (id === 'documents' && this.#isContainer)
        throw invalid(`${path}: it cannot be told where its documents are.`);
      else if (!this.#json.isObject || (headerKeys.has(id) && documents === 0)) {
        others.push(id);
        this.#json.skip();
      } else {
        documents++;
        yield* this.#document(pathTo(path, id));
      }
    }
    if (!hasWrapper && others.length > 0) throw notADocument(`${path}/${others[0]}`);
  }

  /** An element of a list of collections, which says its id itself: before its documents, or they have to be held. */
  *#listedCollection(parent: string): Generator<UnsortedRecord> {
    if (!this.#json.isObject) throw noId(parent || 'the file');
    const held: PlainObject = Object.create(null);
    let isRead = false;
    for (const name of this.#json.keys())
      if (name === 'documents' && typeof held.id === 'string' && this.#isContainer) {
        isRead = true;
        yield* this.#documents(pathBelow(parent, held.id));
      } else this.#hold(held, name);
    if (!isRead) yield* collectionsIn([held], parent, this.#database);
  }

  #hold(held: PlainObject, name: string): void {
    if (name in held) throw invalid(`${this.#key} is refused: ${name} stands twice in one place.`);
    held[name] = this.#json.value();
  }

  *#documents(path: string): Generator<UnsortedRecord> {
    if (this.#json.isObject) for (const id of this.#json.keys()) yield* this.#document(pathTo(path, id));
    else if (this.#json.isArray) for (const _ of this.#json.elements()) yield* this.#listedDocument(path);
    else throw noDocuments(path);
  }

  *#listedDocument(parent: string): Generator<UnsortedRecord> {
    const element = this.#json.value();
    const id = isPlainObject(element) ? (element.id ?? element.name) : undefined;
    if (typeof id !== 'string') throw noId(parent);
    yield* documentIn(element, pathTo(parent, id), this.#database);
  }

  /** Its collections are walked where they are sure to be some; the rest of it is held. */
  *#document(path: string): Generator<UnsortedRecord> {
    if (!this.#json.isObject) throw notADocument(path);
    const held: PlainObject = Object.create(null);
    for (const name of this.#json.keys())
      if (alwaysCollections.includes(name) && this.#isContainer) yield* this.#collections(path);
      else this.#hold(held, name);
    yield* documentIn(held, path, this.#database);
  }
}

const invalid = (message: string) => new EngineError('VALIDATION_ERROR', message);
const notADocument = (path: string) => invalid(`${path} is not a document.`);
const noDocuments = (where: string) => invalid(`There are no documents where they should be, in ${where}.`);
const noId = (where: string) => invalid(`An entry of ${where} has no id.`);
