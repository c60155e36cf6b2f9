import pg from 'pg';

/**
 * PostgreSQL holds U+0000 in no text, and a name in Firestore may have one. In its place stand the mark and a 0; the mark
 * itself, which is as rare, is followed by a 1.
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
  // Only these two of JSON's own escapes can stand for what is not plain.
  return /\\u00(?:00|1a)/.test(text) ? JSON.stringify(value, (_, inner) => mapped(inner, escapeText)) : text;
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
