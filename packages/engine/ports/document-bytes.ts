/**
 * Looks into a serialized google.firestore.v1.Document without decoding it: the top level is walked, fields are
 * skipped by their lengths. Document: name = 1, fields = 2 (map entries), create_time = 3, update_time = 4.
 */
export interface DocumentOutline {
  nameStart: number;
  nameEnd: number;
  createSeconds: number;
  createNanos: number;
  updateSeconds: number;
  updateNanos: number;
  /** Whether the time of creation is wanted; most readers pass it over. */
  readonly withCreateTime: boolean;
}

export function emptyOutline(withCreateTime = true): DocumentOutline {
  const times = { createSeconds: 0, createNanos: 0, updateSeconds: 0, updateNanos: 0 };
  return { nameStart: 0, nameEnd: 0, ...times, withCreateTime };
}

/** Position after the varint just read by readVarint. Module state keeps the hot loop free of allocations. */
let cursor = 0;

/** Varints up to 2^53; the ones here are lengths, tags, seconds and nanos. Most have one byte. */
function readVarint(bytes: Uint8Array, offset: number): number {
  const first = bytes[offset];
  if (first === undefined) return -1;
  if (first < 0x80) {
    cursor = offset + 1;
    return first;
  }
  const second = bytes[offset + 1];
  if (second !== undefined && second < 0x80) {
    cursor = offset + 2;
    return (first & 0x7f) | (second << 7);
  }
  return readLongVarint(bytes, offset);
}

function readLongVarint(bytes: Uint8Array, offset: number): number {
  let value = 0;
  let scale = 1;
  for (let index = offset; index < offset + 10; index += 1) {
    const byte = bytes[index];
    if (byte === undefined) return -1;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      cursor = index + 1;
      return value;
    }
    scale *= 128;
  }
  return -1;
}

const fieldsTag = 0x12;

/** A length of one or two bytes; -1 when it is longer. */
function shortLength(bytes: Uint8Array, offset: number): number {
  const first = bytes[offset]!;
  if (first < 0x80) {
    cursor = offset + 1;
    return first;
  }
  const second = bytes[offset + 1]!;
  if (second >= 0x80) return -1;
  cursor = offset + 2;
  return (first & 0x7f) | (second << 7);
}

const twoTo64 = 2 ** 64;

/** Fills `outline` from bytes[start, end); false when they are no well-formed Document with a name. */
export function outlineDocument(bytes: Uint8Array, start: number, end: number, outline: DocumentOutline): boolean {
  outline.nameStart = 0;
  outline.nameEnd = 0;
  outline.createSeconds = 0;
  outline.createNanos = 0;
  outline.updateSeconds = 0;
  outline.updateNanos = 0;
  let position = start;
  while (position < end) {
    // Most of a document is fields of less than 16 KiB, and what is in them is of no interest here.
    if (bytes[position] === fieldsTag) {
      const length = shortLength(bytes, position + 1);
      if (length >= 0) {
        position = cursor + length;
        continue;
      }
    }
    const tag = readVarint(bytes, position);
    if (tag < 0) return false;
    const wireType = tag & 7;
    if (wireType === 2) {
      const length = readVarint(bytes, cursor);
      if (length < 0 || cursor + length > end) return false;
      const fieldStart = cursor;
      position = fieldStart + length;
      if (tag === 0x0a) {
        outline.nameStart = fieldStart;
        outline.nameEnd = position;
      } else if (tag === 0x22 || (tag === 0x1a && outline.withCreateTime)) {
        if (!readTimestamp(bytes, fieldStart, position, tag === 0x22, outline)) return false;
      }
    } else if (wireType === 0) {
      if (readVarint(bytes, cursor) < 0) return false;
      position = cursor;
    } else if (wireType === 1) position = cursor + 8;
    else if (wireType === 5) position = cursor + 4;
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
    const value = readVarint(bytes, cursor);
    if (value < 0) return false;
    position = cursor;
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
