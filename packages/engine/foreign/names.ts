import { EngineError } from '../ports/errors.ts';
import type { DocumentPlace } from './document-place.ts';

const idBytesMax = 1500;
const pathBytesMax = 6 * 1024;
/** A hundred collections, each with a document. */
const segmentsMax = 200;
const numericId = /^__id-?\d{1,19}__$/;
const reservedName = /^__.*__$/s;
const shownLength = 60;

/** The path of a child with this id. An id that Firestore cannot store is refused: it would lead elsewhere. */
export function pathTo(parent: string, id: string): string {
  const fault = nameFault(id);
  if (fault !== undefined)
    throw new EngineError(
      'VALIDATION_ERROR',
      `${shownName(id)}${parent === '' ? '' : ` in ${parent}`} is no id: it ${fault}.`,
    );
  if (parent === '') return id;
  if (segmentsOf(parent) >= segmentsMax)
    throw new EngineError('VALIDATION_ERROR', `${shownName(id)} lies in more than ${segmentsMax / 2} collections.`);
  const path = `${parent}/${id}`;
  if (Buffer.byteLength(path) > pathBytesMax)
    throw new EngineError('VALIDATION_ERROR', `${path.slice(0, 200)}… is refused: its path has more than 6 KiB.`);
  return path;
}

function segmentsOf(path: string): number {
  let segments = 1;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) segments += 1;
  return segments;
}

/** What is wrong with the id of a document or collection; undefined if nothing is. */
export function nameFault(id: string): string | undefined {
  if (id === '') return 'is empty';
  if (id.includes('/')) return 'holds a slash';
  if (id === '.' || id === '..') return 'means a place and not a name';
  if (reservedName.test(id) && !isNumericId(id)) return 'is reserved by Firestore';
  if (Buffer.byteLength(id) > idBytesMax) return `has more than ${idBytesMax} bytes`;
  return undefined;
}

/** Numeric ids of older databases. */
export function isNumericId(id: string): boolean {
  return numericId.test(id);
}

/** Throws for a bad name of a field of a document or map. */
export function requireFieldName(name: string, place: DocumentPlace): void {
  if (name === '') throw place.refused('has an empty name, which Firestore cannot hold');
  if (reservedName.test(name)) throw place.refused('has a name that is reserved by Firestore');
  if (Buffer.byteLength(name) > idBytesMax) throw place.refused(`has a name of more than ${idBytesMax} bytes`);
}

export function shownName(name: string): string {
  return JSON.stringify(name.length > shownLength ? `${name.slice(0, shownLength)}…` : name);
}
