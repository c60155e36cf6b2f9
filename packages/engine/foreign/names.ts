import { EngineError } from '../ports/errors.ts';

const idBytesMax = 1500;
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
  return parent === '' ? id : `${parent}/${id}`;
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
