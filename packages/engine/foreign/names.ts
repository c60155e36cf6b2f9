import { EngineError } from '../ports/errors.ts';

const idBytesMax = 1500;
/** A hundred collections, each with a document. */
const segmentsMax = 200;
const numericId = /^__id-?\d{1,19}__$/;
const reservedName = /^__.*__$/s;
const shownLength = 60;

/** The path of what has this id below a path. An id that Firestore cannot hold is refused: it would lead elsewhere. */
export function pathTo(parent: string, id: string): string {
  const fault = faultOf(id);
  if (fault !== undefined)
    throw new EngineError(
      'VALIDATION_ERROR',
      `${shown(id)}${parent === '' ? '' : ` in ${parent}`} is no id: it ${fault}.`,
    );
  if (parent === '') return id;
  if (segmentsOf(parent) >= segmentsMax)
    throw new EngineError('VALIDATION_ERROR', `${shown(id)} lies in more than ${segmentsMax / 2} collections.`);
  return `${parent}/${id}`;
}

function segmentsOf(path: string): number {
  let segments = 1;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) segments += 1;
  return segments;
}

function faultOf(id: string): string | undefined {
  if (id === '') return 'is empty';
  if (id.includes('/')) return 'holds a slash';
  if (id === '.' || id === '..') return 'means a place and not a name';
  if (reservedName.test(id) && !numericId.test(id)) return 'is reserved by Firestore';
  if (Buffer.byteLength(id) > idBytesMax) return `has more than ${idBytesMax} bytes`;
  return undefined;
}

/** The same for a field of a document or map. */
export function requireFieldName(name: string): void {
  if (name === '') throw new EngineError('VALIDATION_ERROR', 'A field has an empty name, which Firestore cannot hold.');
  if (reservedName.test(name))
    throw new EngineError('VALIDATION_ERROR', `The name of the field ${shown(name)} is reserved by Firestore.`);
  if (Buffer.byteLength(name) > idBytesMax)
    throw new EngineError(
      'VALIDATION_ERROR',
      `The name of the field ${shown(name)} has more than ${idBytesMax} bytes.`,
    );
}

function shown(name: string): string {
  return JSON.stringify(name.length > shownLength ? `${name.slice(0, shownLength)}…` : name);
}
