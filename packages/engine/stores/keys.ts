import { EngineError } from '../ports/index.ts';

const keyBytesMax = 900;
const soundSentence =
  'Keys hold letters, digits, dots, hyphens, underscores and slashes; rename what is called otherwise.';
const insideSentence =
  'It begins in the store, without its bucket and without a slash at either end, and holds no empty part, no . or .., no backslash and no control character.';
/** The longest key that stores accept. */
const foreignKeyBytesMax = 1024;
/** A backslash is a separator elsewhere. */
const unreadable = /[\p{Cc}\\]/u;
const segmentPattern = /^[A-Za-z0-9._-]+$/;
export const bytesMaxDefault = 64 * 1024 * 1024;

/**
 * The engine chooses its keys itself. A bad one, which could lead out of a folder, is refused before any store sees it.
 */
export function checkKey(key: string): void {
  const isSound =
    key.length > 0 &&
    key.length <= keyBytesMax &&
    key.split('/').every((segment) => segmentPattern.test(segment) && segment !== '.' && segment !== '..');
  if (!isSound)
    throw new EngineError(
      'VALIDATION_ERROR',
      `Not a key of this store: ${JSON.stringify(key.slice(0, 100))}. ${soundSentence}`,
    );
}

/** Objects that others wrote may have any name (`2024-05-01T12:00:00_1`), as long as it stays in its folder. */
export function checkReadKey(key: string): void {
  const isSound = isReadable(key) && key.split('/').every((segment) => isInside(segment) && segment !== '');
  if (!isSound) throw notInside(key);
}

/** A prefix is the beginning of a key, and may stop anywhere in it. */
export function checkPrefix(prefix: string): void {
  const segments = prefix.split('/').slice(0, -1);
  const isSound =
    prefix === '' || (isReadable(prefix) && segments.every((segment) => isInside(segment) && segment !== ''));
  if (!isSound) throw notInside(prefix);
}

/** People paste the address of an export as other tools print it, so the message says how to name it here. */
function notInside(path: string): EngineError {
  return new EngineError(
    'VALIDATION_ERROR',
    `Not a path within this store: ${JSON.stringify(path.slice(0, 100))}. ${insideSentence}`,
  );
}

function isReadable(text: string): boolean {
  const bytes = Buffer.byteLength(text);
  return bytes > 0 && bytes <= foreignKeyBytesMax && text.isWellFormed() && !unreadable.test(text);
}

function isInside(segment: string): boolean {
  return segment !== '.' && segment !== '..';
}

/** Compares by bytes, which is the order of every store. */
export function isBehind(key: string, other: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(other)) > 0;
}

export function checkRange(offset: number, length: number): void {
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 1)
    throw new EngineError('VALIDATION_ERROR', `Not a range of bytes: ${length} from ${offset}`);
}

/** `backups` and `backups/` and `/backups/` all mean keys below `backups/`; empty means the whole bucket. */
export function folderPrefix(prefix: string | undefined): string {
  const bare = (prefix ?? '').replace(/^\/+|\/+$/g, '');
  if (bare === '') return '';
  checkKey(bare);
  return `${bare}/`;
}
