import { endOfVarint, readVarint } from './wire.ts';

/**
 * Reads the outline of a serialized google.firestore.v1.Document without decoding it: walks the top level and skips
 * fields by their lengths. Document: name = 1, fields = 2 (map entries), create_time = 3, update_time = 4.
 */
export interface DocumentOutline {
  nameStart: number;
  nameEnd: number;
  createSeconds: number;
  createNanos: number;
  updateSeconds: number;
  updateNanos: number;
  /** Whether the creation time is needed; most readers skip it. */
  readonly withCreateTime: boolean;
}

export function emptyOutline(withCreateTime = true): DocumentOutline {
  const times = { createSeconds: 0, createNanos: 0, updateSeconds: 0, updateNanos: 0 };
  return { nameStart: 0, nameEnd: 0, ...times, withCreateTime };
}

const fieldsTag = 0x12;

const twoTo64 = 2 ** 64;

/** Fills `outline` from bytes[start, end); false unless they are a well-formed Document with a name. */
export function outlineDocument(bytes: Uint8Array, start: number, end: number, outline: DocumentOutline): boolean {
  outline.nameStart = 0;
  outline.nameEnd = 0;
  outline.createSeconds = 0;
  outline.createNanos = 0;
  outline.updateSeconds = 0;
  outline.updateNanos = 0;
  let position = start;
  while (position < end) {
    // Most of a document is fields, whose contents are not needed here.
    if (bytes[position] === fieldsTag) {
      const length = readVarint(bytes, position + 1);
      if (length < 0) return false;
      position = endOfVarint() + length;
      continue;
    }
    const tag = readVarint(bytes, position);
    if (tag < 0) return false;
    const wireType = tag & 7;
    if (wireType === 2) {
      const length = readVarint(bytes, endOfVarint());
      const fieldStart = endOfVarint();
      if (length < 0 || fieldStart + length > end) return false;
      position = fieldStart + length;
      if (tag === 0x0a) {
        outline.nameStart = fieldStart;
        outline.nameEnd = position;
      } else if (tag === 0x22 || (tag === 0x1a && outline.withCreateTime)) {
        if (!readTimestamp(bytes, fieldStart, position, tag === 0x22, outline)) return false;
      }
    } else if (wireType === 0) {
      if (readVarint(bytes, endOfVarint()) < 0) return false;
      position = endOfVarint();
    } else if (wireType === 1) position = endOfVarint() + 8;
    else if (wireType === 5) position = endOfVarint() + 4;
    else return false;
  }
  return position === end && outline.nameEnd > outline.nameStart;
}

function readTimestamp(
  bytes: Uint8Array,
  start: number,
  end: number,
  isUpdate: boolean,
  outline: DocumentOutline,
): boolean {
  let seconds = 0;
  let nanos = 0;
  let position = start;
  while (position < end) {
    const tag = readVarint(bytes, position);
    if (tag !== 0x08 && tag !== 0x10) return false;
    const value = readVarint(bytes, endOfVarint());
    if (value < 0) return false;
    position = endOfVarint();
    if (tag === 0x08) seconds = value >= twoTo64 / 2 ? value - twoTo64 : value;
    else nanos = value;
  }
  if (isUpdate) {
    outline.updateSeconds = seconds;
    outline.updateNanos = nanos;
  } else {
    outline.createSeconds = seconds;
    outline.createNanos = nanos;
  }
  return position === end;
}

/** `projects/p/databases/d/documents/users/ada` → `users/ada`. */
export function pathOfName(name: string): string {
  const marker = name.indexOf('/documents/');
  return marker < 0 ? '' : name.slice(marker + 11);
}
