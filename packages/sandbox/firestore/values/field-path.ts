import { invalid } from '../transport/status.ts';

export type FieldPath = readonly string[];

export const NAME_FIELD = '__name__';
const SIMPLE_PATH = /^[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*$/;
const SIMPLE_SEGMENT = /^[A-Za-z_][A-Za-z_0-9]*$/;
const FIELD_BYTES_MAX = 1500;

/** Splits `a.b`, with segments that are not simple names in backticks: `a.\`b.c\``. */
export function parseFieldPath(text: string): FieldPath {
  const segments = SIMPLE_PATH.test(text) ? text.split('.') : scanSegments(text);
  for (const segment of segments) checkFieldName(segment, text);
  return segments;
}

function scanSegments(text: string): string[] {
  const segments: string[] = [];
  let at = 0;
  while (true) {
    const quoted = text[at] === '`';
    const { segment, end } = quoted ? scanQuoted(text, at + 1) : scanSimple(text, at);
    segments.push(segment);
    if (end === text.length) return segments;
    if (text[end] !== '.') throw invalid(`Invalid property path "${text}".`);
    at = end + 1;
  }
}

function scanSimple(text: string, start: number): { segment: string; end: number } {
  const dot = text.indexOf('.', start);
  const end = dot === -1 ? text.length : dot;
  const segment = text.slice(start, end);
  if (!SIMPLE_SEGMENT.test(segment)) {
    throw invalid(
      `Invalid property path "${text}". Unquoted property names must match regex ([a-zA-Z_][a-zA-Z_0-9]*).`,
    );
  }
  return { segment, end };
}

function scanQuoted(text: string, start: number): { segment: string; end: number } {
  let segment = '';
  for (let at = start; at < text.length; at++) {
    if (text[at] === '`') return { segment, end: at + 1 };
    if (text[at] === '\\') at += 1;
    segment += text[at] ?? '';
  }
  throw invalid(`Invalid property path "${text}": a backtick is not closed.`);
}

function checkFieldName(name: string, path: string): void {
  if (name === '') throw invalid(`Invalid property path "${path}": a property name is empty.`);
  if (name.length > FIELD_BYTES_MAX / 3 && Buffer.byteLength(name) > FIELD_BYTES_MAX) {
    throw invalid(`Property name is longer than ${FIELD_BYTES_MAX} bytes.`);
  }
}

export function isNamePath(path: FieldPath): boolean {
  return path.length === 1 && path[0] === NAME_FIELD;
}

/** The canonical text of a path, quoted where it must be. */
export function formatFieldPath(path: FieldPath): string {
  return path
    .map((segment) => (SIMPLE_SEGMENT.test(segment) ? segment : `\`${segment.replace(/[`\\]/g, '\\$&')}\``))
    .join('.');
}
