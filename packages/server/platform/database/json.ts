import pg from 'pg';

/**
 * PostgreSQL cannot store U+0000 in text, but a Firestore name may contain it. It is stored as this mark and a 0; the
 * mark itself, which is as rare, is stored with a 1 after it. Half a character, as in a cut text, becomes the
 * replacement character.
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
  // Of JSON's own escapes only these can stand for characters that need the mark.
  return /\\u(?:0000|001a|d[89a-f])/.test(text) ? JSON.stringify(value, (_, inner) => mapped(inner, storable)) : text;
}

function storable(text: string): string {
  return escapeText(text.toWellFormed());
}

/** The same for values that PostgreSQL keeps as they were written, also with a zero character. */
export function encodeEvent(value: unknown): string {
  const text = JSON.stringify(value);
  const wellFormed = (inner: string) => inner.toWellFormed();
  return /\\ud[89a-f]/.test(text) ? JSON.stringify(value, (_, inner) => mapped(inner, wellFormed)) : text;
}

/** A parameter of a statement: the driver would serialize an object without checking its texts. */
export function encodeParameter(value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isObject ? encodeJson(value) : value;
}

export function decodeJson(text: string): unknown {
  return text.includes('\\u001a') ? JSON.parse(text, (_, inner) => mapped(inner, unescapeText)) : JSON.parse(text);
}

/** Decodes JSON however its column is read. */
pg.types.setTypeParser(pg.types.builtins.JSONB, decodeJson);

function isPlain(text: string): boolean {
  return !text.includes('\0') && !text.includes(mark);
}

/** Maps a text, or the names in an object; its values are visited separately. */
function mapped(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [map(name), inner]));
}
