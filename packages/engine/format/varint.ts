/** Protocol Buffers varints for the index block. Values stay below 2^53. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  if (value < 0x80) {
    target[offset] = value;
    return offset + 1;
  }
  let position = offset;
  let rest = value;
  // Above 31 bits shifts would cut the number off.
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

export function zigzag(value: number): number {
  return value < 0 ? -value * 2 - 1 : value * 2;
}

export function unzigzag(value: number): number {
  return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
}

/** A position in bytes that reads varints; reading past the end gives -1 and stays there. */
export class VarintReader {
  readonly bytes: Uint8Array;
  position: number;

  constructor(bytes: Uint8Array, position = 0) {
    this.bytes = bytes;
    this.position = position;
  }

  next(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 8; count += 1) {
      const byte = this.bytes[this.position];
      if (byte === undefined) return -1;
      this.position += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    return -1;
  }
}
