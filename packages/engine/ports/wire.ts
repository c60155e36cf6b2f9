/** The part of the Protocol Buffers wire format that hot paths need: read a tag or length, skip a field, write one. */

/** Where the last read varint ended. Module state keeps the hot loops free of allocations. */
let after = 0;

export function endOfVarint(): number {
  return after;
}

/** Reads a varint below 2^53 (tags, lengths, seconds); negative when the bytes end inside it. Most have one byte. */
export function readVarint(bytes: Uint8Array, offset: number): number {
  const first = bytes[offset];
  if (first === undefined) return -1;
  if (first < 0x80) {
    after = offset + 1;
    return first;
  }
  const second = bytes[offset + 1];
  if (second !== undefined && second < 0x80) {
    after = offset + 2;
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
      after = index + 1;
      return value;
    }
    scale *= 128;
  }
  return -1;
}

const wireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** The offset behind the field whose tag was just read and whose content starts at `offset`. */
export function skipField(bytes: Uint8Array, tag: number, offset: number, end: number): number {
  const type = tag & 7;
  let next = -1;
  if (type === wireType.bytes) {
    const length = readVarint(bytes, offset);
    next = length < 0 ? -1 : after + length;
  } else if (type === wireType.varint) next = readVarint(bytes, offset) < 0 ? -1 : after;
  else if (type === wireType.fixed64) next = offset + 8;
  else if (type === wireType.fixed32) next = offset + 4;
  if (next < 0 || next > end) throw new MalformedMessage();
  return next;
}

/** Length of the length-delimited field at `offset`, checked against `end`; endOfVarint is where it starts. */
export function readLength(bytes: Uint8Array, offset: number, end: number): number {
  const length = readVarint(bytes, offset);
  if (length < 0 || after + length > end) throw new MalformedMessage();
  return length;
}

export function readTag(bytes: Uint8Array, offset: number): number {
  const tag = readVarint(bytes, offset);
  if (tag < 0) throw new MalformedMessage();
  return tag;
}

export class MalformedMessage extends Error {
  constructor() {
    super('the bytes are not a well-formed message');
  }
}

export function varintBytes(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

/** Writes a varint below 2^53 and answers the offset behind it. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let position = offset;
  let rest = value;
  // Shifts would truncate numbers above 31 bits.
  for (; rest >= 0x8000_0000; rest = Math.floor(rest / 128)) {
    target[position] = (rest % 128) | 0x80;
    position += 1;
  }
  for (; rest >= 0x80; rest >>>= 7) {
    target[position] = (rest & 0x7f) | 0x80;
    position += 1;
  }
  target[position] = rest;
  return position + 1;
}
