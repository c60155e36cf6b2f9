import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError } from '../ports/errors.ts';
import { isWholeName } from './exported-lines.ts';
import { type ByteSource, type JsonCursor, JsonReader } from './json-reader.ts';
import { pathTo, shownName } from './names.ts';
import { isContainer, ParsedJson, type PlainObject } from './parsed-json.ts';
import {
  beside,
  collectionKeys,
  isNameKey,
  isNameOf,
  notADocument,
  plainCollectionKeys,
  recordOf,
  requirePlain,
  unwrapped,
} from './version1-document.ts';

/**
 * The single file of version 1: collections hold documents by id, documents hold fields and collections again. The
 * shapes that were written over time differ in how they set fields and collections apart:
 *
 *     plain    {"users": {"ada": {"name": "Ada", "__collections__": {"orders": {…}}}}}
 *              {"__collections__": {"users": {…}}}, {"collections": {"users": {…}}}
 *              {"users": {"ada": {"name": "Ada", "subCollection": {"users/ada/orders": {…}}}}}
 *     wrapped  {"collections": {"users": {"documents": {"ada": {"data": {…}, "collections": {…}}}}}}
 *              {"collections": [{"id": "users", "documents": [{"id": "ada", "data": {…}, "subcollections": […]}]}]}
 *
 * It is walked as its bytes come; one document at a time is held. What could be read in two ways is refused, and so is
 * whatever has no place in the shape: nothing is left out without a word.
 */
export function* readVersion1Json(
  source: ByteSource,
  key: string,
  database: string,
  onWarning: (text: string) => void,
): Generator<UnsortedRecord> {
  const walk = new Walk(new JsonReader(source, key), key, database);
  let isEmpty = true;
  for (const record of walk.file()) {
    isEmpty = false;
    yield record;
  }
  if (isEmpty)
    throw invalid(`${key} holds no documents in a shape that is known: collections hold documents by their ids.`);
  for (const text of walk.warnings()) onWarning(text);
}

/** Keys with information about the file. */
const headerKeys = new Set(['metadata', 'meta', 'info', '__metadata__']);
const shownMax = 10;

class Walk {
  readonly #json: JsonReader;
  readonly #key: string;
  readonly #database: string;
  /** Determined by the first collection that shows it; all others have the same shape. */
  #shape: 'plain' | 'wrapped' | undefined;
  readonly #said: string[] = [];
  #hasTimes = false;

  constructor(json: JsonReader, key: string, database: string) {
    this.#json = json;
    this.#key = key;
    this.#database = database;
  }

  *warnings(): Generator<string> {
    const shown = [...this.#said.slice(0, shownMax), ...(this.#said.length > shownMax ? ['…'] : [])].join(', ');
    if (shown !== '') yield `${this.#key}: what it says about itself is not part of the backup (${shown}).`;
    if (this.#hasTimes) yield `${this.#key}: createTime and updateTime of its documents are not part of the backup.`;
  }

  /** Without a key that marks the collections, everything that looks like one is one. */
  *file(): Generator<UnsortedRecord> {
    const json = this.#json;
    if (!json.isObject) throw invalid(`${this.#key} holds no collections.`);
    let named: string | undefined;
    let bare: string | undefined;
    for (const name of json.keys()) {
      if ((name === '__collections__' || name === 'collections') && (json.isObject || json.isArray)) {
        const other = named ?? bare;
        if (other !== undefined) throw this.#mixed(other, name);
        named = name;
        if (name === '__collections__' && json.isObject) this.#shape = 'plain';
        yield* this.#collections(json, '');
      } else if (json.isArray)
        throw invalid(`${this.#key}: ${name} is a list, but a collection holds its documents by their ids.`);
      else if (json.isObject && !headerKeys.has(name)) {
        if (named !== undefined) throw this.#mixed(named, name);
        bare = name;
        this.#shape = 'plain';
        yield* this.#collection(json, pathTo('', name));
      } else if (json.isObject) {
        const isCollection = yield* this.#header(name, named);
        if (isCollection) bare = name;
      } else {
        this.#note(name);
        if (name !== 'name') json.skip();
        else if (isWholeName(json.value()))
          throw invalid(`${this.#key} has a document on each line, as Holdfast exports them: its format is ndjson.`);
      }
      json.place = '';
    }
    json.finish();
  }

  /** A header has plain values. An object with documents is a collection, whatever its name. */
  *#header(name: string, named: string | undefined): Generator<UnsortedRecord, boolean> {
    const json = this.#json;
    let hasDocuments = false;
    let saying: string | undefined;
    for (const id of json.keys())
      if (json.isObject) {
        if (named !== undefined) throw this.#mixed(named, name);
        hasDocuments = true;
        this.#shape = 'plain';
        yield* this.#plainDocument(json, pathTo(name, id));
      } else {
        saying ??= id;
        const held = json.value();
        if (Array.isArray(held) && held.some(isContainer)) throw notADocument(`${name}/${id}`);
      }
    if (hasDocuments && saying !== undefined) throw notADocument(`${name}/${saying}`);
    if (!hasDocuments) this.#note(name);
    return hasDocuments;
  }

  #note(name: string): void {
    if (this.#said.length <= shownMax) this.#said.push(name.slice(0, 60));
  }

  #mixed(one: string, other: string): EngineError {
    return invalid(
      `${this.#key}: ${shownName(one)} and ${shownName(other)} both hold something; it cannot be told where its collections are.`,
    );
  }

  *#collections(json: JsonCursor, parent: string): Generator<UnsortedRecord> {
    if (json.isObject) for (const id of json.keys()) yield* this.#collection(json, pathBelow(parent, id));
    else for (const _ of json.elements()) yield* this.#listedCollection(json, parent);
  }

  /** Documents by id, or an object with only the key `documents`. */
  *#collection(json: JsonCursor, path: string): Generator<UnsortedRecord> {
    this.#json.place = path;
    if (!json.isObject) return yield* this.#documents(json, path);
    let isFirst = true;
    for (const id of json.keys()) {
      if (this.#shape === undefined)
        this.#shape = id === 'documents' && isFirst && (json.isObject || json.isArray) ? 'wrapped' : 'plain';
      isFirst = false;
      if (this.#shape === 'plain') yield* this.#plainDocument(json, pathTo(path, id));
      else if (id === 'documents') yield* this.#documents(json, path);
      else throw beside(path, id, 'documents');
    }
  }

  /**
   * An element of a list of collections, with its own id. If the id comes after the documents, they have to be kept in
   * memory.
   */
  *#listedCollection(json: JsonCursor, parent: string): Generator<UnsortedRecord> {
    this.#requireWrapped(parent || this.#key);
    this.#json.place = parent;
    if (!json.isObject) throw noId(parent || 'the file');
    const held: PlainObject = Object.create(null);
    let isRead = false;
    for (const name of json.keys())
      if (name === 'documents' && typeof held.id === 'string') {
        isRead = true;
        yield* this.#documents(json, pathBelow(parent, held.id));
      } else this.#hold(json, held, name);
    const { documents, ...rest } = held;
    const id = idOf(rest, parent || 'the file');
    const path = pathBelow(parent, id);
    for (const [name, value] of Object.entries(rest))
      if (!isNameKey(name) || !isNameOf(value, id, path)) throw beside(path, name, 'documents');
    if (!isRead || documents !== undefined) yield* this.#documents(new ParsedJson(documents), path);
  }

  #requireWrapped(where: string): void {
    this.#shape ??= 'wrapped';
    if (this.#shape === 'plain') throw invalid(`${where} is refused: its collections are a list, others are not.`);
  }

  #hold(json: JsonCursor, held: PlainObject, name: string): void {
    if (name in held)
      throw invalid(`${this.#json.place || this.#key} is refused: ${shownName(name)} stands in it twice.`);
    held[name] = json.value();
  }

  *#documents(json: JsonCursor, path: string): Generator<UnsortedRecord> {
    if (json.isObject) for (const id of json.keys()) yield* this.#wrappedDocument(json, path, id);
    else if (!json.isArray) throw noDocuments(path);
    else {
      this.#requireWrapped(path);
      for (const _ of json.elements()) yield* this.#wrappedDocument(json, path);
    }
  }

  /** Its collections are read in place; the rest of it is kept in memory. */
  *#plainDocument(json: JsonCursor, path: string): Generator<UnsortedRecord> {
    this.#json.place = path;
    if (!json.isObject) throw notADocument(path);
    const held: PlainObject = Object.create(null);
    for (const name of json.keys())
      if (plainCollectionKeys.has(name) && (json.isObject || json.isArray)) {
        yield* this.#collections(json, path);
        this.#json.place = path;
      } else if (name === 'subCollection' && json.isObject) {
        const field = yield* this.#byWholePath(json, path);
        if (field) this.#hold(new ParsedJson(field), held, name);
      } else this.#hold(json, held, name);
    requirePlain(held, path);
    yield recordOf(held, path, this.#database);
  }

  /**
   * Collections named by their full paths, which no field can be. Without such a name the value is a field and is
   * returned.
   */
  *#byWholePath(json: JsonCursor, path: string): Generator<UnsortedRecord, PlainObject | undefined> {
    const held: PlainObject = Object.create(null);
    let hasCollections = false;
    for (const name of json.keys())
      if (name.startsWith(`${path}/`)) {
        hasCollections = true;
        yield* this.#collection(json, pathBelow(path, name));
        this.#json.place = path;
      } else this.#hold(json, held, name);
    const [other] = Object.keys(held);
    if (hasCollections && other !== undefined) throw beside(path, other, 'subCollection');
    return hasCollections ? undefined : held;
  }

  /** In a list the document has its own id; until it is known, its collections have to be kept in memory. */
  *#wrappedDocument(json: JsonCursor, parent: string, key?: string): Generator<UnsortedRecord> {
    this.#json.place = key === undefined ? parent : pathTo(parent, key);
    if (!json.isObject) throw key === undefined ? noId(parent) : notADocument(pathTo(parent, key));
    const held: PlainObject = Object.create(null);
    for (const name of json.keys()) {
      const id = key ?? held.id;
      if (typeof id === 'string') this.#json.place = pathTo(parent, id);
      if (collectionKeys.has(name) && typeof id === 'string' && (json.isObject || json.isArray))
        yield* this.#collections(json, pathTo(parent, id));
      else this.#hold(json, held, name);
    }
    const id = key ?? idOf(held, parent);
    const path = pathTo(parent, id);
    const { fields, nested, hasTimes } = unwrapped(held, id, path);
    this.#hasTimes ||= hasTimes;
    for (const collections of nested) yield* this.#collections(new ParsedJson(collections), path);
    if (fields) yield recordOf(fields, path, this.#database);
  }
}

/** Some writers name subcollections by their full path. */
function pathBelow(parent: string, id: string): string {
  return pathTo(parent, parent !== '' && id.startsWith(`${parent}/`) ? id.slice(parent.length + 1) : id);
}

function idOf(held: PlainObject, where: string): string {
  const id = held.id ?? held.name;
  if (typeof id !== 'string') throw noId(where);
  return id;
}

const invalid = (message: string) => new EngineError('VALIDATION_ERROR', message);
const noDocuments = (where: string) => invalid(`There are no documents where they should be, in ${where}.`);
const noId = (where: string) => invalid(`An entry of ${where} has no id.`);
