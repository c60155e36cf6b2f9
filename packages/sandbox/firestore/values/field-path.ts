import { invalid } from '../transport/status.ts';

export type FieldPath = readonly string[];

export const nameField = '__name__';
const simplePath = /^[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*$/;
const simpleSegment = /^[A-Za-z_][A-Za-z_0-9]*$/;
const fieldBytesMax = 1500;

/** Splits `a.b`, with segments that are not simple names in backticks: `a.\`b.c\``. */
export function parseFieldPath(text: string): FieldPath {
  const segments = simplePath.test(text) ? text.split('.') : scanSegments(text);
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
  if (!simpleSegment.test(segment)) {
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
  if (name.length > fieldBytesMax / 3 && Buffer.byteLength(name) > fieldBytesMax) {
    throw invalid(`Property name is longer than ${fieldBytesMax} bytes.`);
  }
}

export function isNamePath(path: FieldPath): boolean {
  return path.length === 1 && path[0] === nameField;
}

/** The canonical text of a path, quoted where it must be. */
export function formatFieldPath(path: FieldPath): string {
  return path
    .map((segment) => (simpleSegment.test(segment) ? segment : `\`${segment.replace(/[`\\]/g, '\\$&')}\``))
    .join('.');
}
