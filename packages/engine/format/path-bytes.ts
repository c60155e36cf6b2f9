import { comparePaths } from '../ports/path-order.ts';

/** How many bytes two stretches have in common at their beginning. */
export function sharedByteCount(
  left: Uint8Array,
  leftStart: number,
  leftEnd: number,
  right: Uint8Array,
  rightStart: number,
  rightEnd: number,
): number {
  const limit = Math.min(leftEnd - leftStart, rightEnd - rightStart);
  let shared = 0;
  while (shared < limit && left[leftStart + shared] === right[rightStart + shared]) shared += 1;
  return shared;
}

const underscore = 0x5f;
const slash = 0x2f;

/**
 * comparePaths on two stretches of UTF-8 bytes whose first `shared` bytes are known to be equal; decodes only when a
 * numeric id is near. Negative, zero or positive.
 */
export function comparePathBytes(
  bytes: Uint8Array,
  leftStart: number,
  leftEnd: number,
  rightStart: number,
  rightEnd: number,
  shared: number,
): number {
  const leftByte = rankAt(bytes, leftStart + shared, leftEnd);
  const rightByte = rankAt(bytes, rightStart + shared, rightEnd);
  if (leftByte === rightByte) return 0;
  let segmentStart = shared;
  while (segmentStart > 0 && bytes[leftStart + segmentStart - 1] !== slash) segmentStart -= 1;
  if (bytes[leftStart + segmentStart] === underscore || bytes[rightStart + segmentStart] === underscore) {
    return comparePaths(utf8(bytes, leftStart, leftEnd), utf8(bytes, rightStart, rightEnd));
  }
  return leftByte - rightByte;
}

function rankAt(bytes: Uint8Array, position: number, end: number): number {
  if (position >= end) return -2;
  const byte = bytes[position]!;
  return byte === slash ? -1 : byte;
}

export function utf8(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
}
