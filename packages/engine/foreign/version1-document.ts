import { encodeDocument } from '../format/document-json.ts';
import type { UnsortedRecord } from '../pipeline/view/sorted-runs.ts';
import { EngineError } from '../ports/errors.ts';
import { recordKind } from '../ports/record.ts';
import { DocumentPlace } from './document-place.ts';
import { shownName } from './names.ts';
import { isContainer, isPlainObject, type PlainObject } from './parsed-json.ts';
import { typedFields } from './plain-json.ts';
import { requireSize } from './storable.ts';

/** Keys that hold subcollections among the fields of a document; other keys do so only beside `data`. */
export const plainCollectionKeys: ReadonlySet<string> = new Set(['__collections__', 'subCollections']);
export const collectionKeys: ReadonlySet<string> = new Set([...plainCollectionKeys, 'collections', 'subcollections']);
const nameKeys: ReadonlySet<string> = new Set(['id', 'path', 'name']);
const existenceKeys: ReadonlySet<string> = new Set(['exists', '__exists__']);
const timeKeys: ReadonlySet<string> = new Set(['createTime', 'updateTime']);
const wrapperKeys: ReadonlySet<string> = new Set([
  'data',
  ...collectionKeys,
  ...nameKeys,
  ...existenceKeys,
  ...timeKeys,
]);

export function recordOf(fields: PlainObject, path: string, database: string): UnsortedRecord {
  const place = new DocumentPlace(path);
  const typed = typedFields(fields, place, database);
  requireSize(typed, place);
  return {
    kind: recordKind.put,
    path,
    body: encodeDocument({ name: `${database}/documents/${path}`, fields: typed }),
  };
}

/** Refuses a document that could have the other shape: its fields would become a map, or its collections fields. */
export function requirePlain(held: PlainObject, path: string): void {
  const hasCollections = [...collectionKeys].some((key) => isContainer(held[key]));
  if (hasCollections && isWrapper(held))
    throw refused(path, 'it cannot be told whether "data" is a field of it or holds its fields');
  const values = Object.values(held);
  if (path.endsWith('/documents') && values.length > 0 && values.every(isWrapper))
    throw refused(path, 'it cannot be told whether it is a document or holds the documents');
}

function isWrapper(value: unknown): boolean {
  return isPlainObject(value) && isPlainObject(value.data) && Object.keys(value).every((key) => wrapperKeys.has(key));
}

export interface Unwrapped {
  /** Undefined when there is no document, only collections below its path. */
  readonly fields: PlainObject | undefined;
  readonly nested: readonly unknown[];
  readonly hasTimes: boolean;
}

/** The fields of a document that has them under `data`. Other keys beside it must be known and not contradict it. */
export function unwrapped(held: PlainObject, id: string, path: string): Unwrapped {
  for (const [name, value] of Object.entries(held)) {
    const isKnown =
      name === 'data' ||
      timeKeys.has(name) ||
      (existenceKeys.has(name) && typeof value === 'boolean') ||
      (collectionKeys.has(name) && (value === null || isContainer(value))) ||
      (isNameKey(name) && isNameOf(value, id, path));
    if (!isKnown) throw beside(path, name, 'data');
  }
  const nested = [...collectionKeys].map((key) => held[key]).filter(isContainer);
  const hasTimes = [...timeKeys].some((key) => key in held);
  const denied = [...existenceKeys].find((key) => held[key] === false);
  const { data } = held;
  if (denied === undefined) {
    if (!isPlainObject(data)) throw refused(path, 'it has no "data" that holds its fields');
    return { fields: data, nested, hasTimes };
  }
  const isEmpty = data === undefined || data === null || (isPlainObject(data) && Object.keys(data).length === 0);
  if (!isEmpty) throw refused(path, `it has fields and says that it does not exist (${shownName(denied)})`);
  return { fields: undefined, nested, hasTimes };
}

export function isNameKey(name: string): boolean {
  return nameKeys.has(name);
}

/** Whether a value repeats the name of a document or collection: its id, its path or its full name. */
export function isNameOf(value: unknown, id: string, path: string): boolean {
  return value === id || value === path || (typeof value === 'string' && value.endsWith(`/documents/${path}`));
}

export function beside(path: string, name: string, what: string): EngineError {
  return refused(path, `${shownName(name)} stands beside its "${what}" and would be left out`);
}

export function notADocument(path: string): EngineError {
  return new EngineError('VALIDATION_ERROR', `${path} is not a document.`);
}

function refused(path: string, reason: string): EngineError {
  return new EngineError('VALIDATION_ERROR', `${path} is refused: ${reason}.`);
}
