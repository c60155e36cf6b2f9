/**
 * A key is a document's path below the database, spelt so that plain string comparison gives Firestore's name order:
 * segment by segment, numeric ids (`__id7__`) first and by number, then strings by their UTF-8 bytes.
 *
 * - U+0000 ends a segment and appears nowhere else, so a document comes right before its own subcollections.
 * - U+0001 escapes: `\1\1` opens a numeric id (20 digits follow, counted from the smallest int64), `\1\2` is U+0000, `\1\3` is U+0001.
 * - UTF-16 units from U+D800 up are rotated, because UTF-16 sorts astral characters before U+E000 and UTF-8 after.
 */
export const separator = '\u0000';
/** Sorts after every key that starts with the text before it plus a separator. */
export const afterSeparator = '\u0001';

const numericId = /^__id(0|-?[1-9][0-9]{0,18})__$/;
const numericMark = '\u0001\u0001';
const numericDigits = 20;
const int64Offset = 2n ** 63n;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the two control characters are the escape alphabet
const needsEscape = /[\u0000\u0001\ud800-\uffff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the two control characters are the escape alphabet
const escapeAll = /[\u0000\u0001\ud800-\uffff]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the two control characters are the escape alphabet
const unescapeAll = /\u0001\u0002|\u0001\u0003|[\ud800-\uffff]/g;

export function isNumericId(segment: string): boolean {
  const match = numericId.exec(segment);
  if (match === null) return false;
  const offset = BigInt(match[1]!) + int64Offset;
  return offset !== int64Offset && offset >= 0n && offset < 2n * int64Offset;
}

function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  if (code === 0) return '\u0001\u0002';
  if (code === 1) return '\u0001\u0003';
  return String.fromCharCode(code < 0xe000 ? code + 0x2000 : code - 0x800);
}

function unescapeUnit(unit: string): string {
  if (unit === '\u0001\u0002') return '\u0000';
  if (unit === '\u0001\u0003') return '\u0001';
  const code = unit.charCodeAt(0);
  return String.fromCharCode(code >= 0xf800 ? code - 0x2000 : code + 0x800);
}

/** The key of one segment. */
export function segmentKey(segment: string): string {
  if (segment.startsWith('__id') && isNumericId(segment)) {
    const offset = BigInt(segment.slice(4, -2)) + int64Offset;
    return numericMark + String(offset).padStart(numericDigits, '0');
  }
  return needsEscape.test(segment) ? segment.replace(escapeAll, escapeUnit) : segment;
}

function segmentFromKey(key: string): string {
  if (key.startsWith(numericMark)) return `__id${BigInt(key.slice(numericMark.length)) - int64Offset}__`;
  return key.replace(unescapeAll, unescapeUnit);
}

/** The key of a relative path such as `users/ada/orders/7`; the empty path is the database root. */
export function keyFromPath(path: string): string {
  if (!path.includes('__id') && !needsEscape.test(path)) return path.replaceAll('/', separator);
  return path.split('/').map(segmentKey).join(separator);
}

export function segmentsFromKey(key: string): string[] {
  return key.split(separator).map(segmentFromKey);
}

export function pathFromKey(key: string): string {
  return segmentsFromKey(key).join('/');
}

/** The last collection segment of a document's key: which collection group it belongs to. */
export function groupOfKey(key: string): string {
  const end = key.lastIndexOf(separator);
  return key.slice(key.lastIndexOf(separator, end - 1) + 1, end);
}

export function compareKeys(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
