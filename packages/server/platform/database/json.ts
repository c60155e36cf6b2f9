import pg from 'pg';

/**
 * PostgreSQL holds U+0000 in no text, and a name in Firestore may have one. In its place stand the mark and a 0; the mark
 * itself, which is as rare, is followed by a 1. Half a character, as a text has that was cut, becomes the sign for one that is not
 * known.
 */
const mark = '\u001a';

export function escapeText(text: string): string {
  return isPlain(text) ? text : text.replaceAll(mark, `${mark}1`).replaceAll('\0', `${mark}0`);
}

export function unescapeText(text: string): string {
  return text.includes(mark) ? text.replaceAll(`${mark}0`, '\0').replaceAll(`${mark}1`, mark) : text;
}

export function encodeJson(value: unknown): string {
  const text = JSON.stringify(value);
  // Only these of JSON's own escapes can stand for what is not plain.
  return /\\u(?:0000|001a|d[89a-f])/.test(text) ? JSON.stringify(value, (_, inner) => mapped(inner, storable)) : text;
}

function storable(text: string): string {
  return escapeText(text.toWellFormed());
}

/** The same for what PostgreSQL keeps as it was written, a zero character too. */
export function encodeEvent(value: unknown): string {
  const text = JSON.stringify(value);
  const wellFormed = (inner: string) => inner.toWellFormed();
  return /\\ud[89a-f]/.test(text) ? JSON.stringify(value, (_, inner) => mapped(inner, wellFormed)) : text;
}

/** A parameter of a statement: the driver would write an object down without a look at what its texts hold. */
export function encodeParameter(value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isObject ? encodeJson(value) : value;
}

export function decodeJson(text: string): unknown {
  return text.includes('\\u001a') ? JSON.parse(text, (_, inner) => mapped(inner, unescapeText)) : JSON.parse(text);
}

/** However a column is read, what is JSON in it is decoded. */
pg.types.setTypeParser(pg.types.builtins.JSONB, decodeJson);

function isPlain(text: string): boolean {
  return !text.includes('\0') && !text.includes(mark);
}

/** A text, or the names in an object; what is in it has its own turn. */
function mapped(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [map(name), inner]));
}
