import { endOfVarint, readVarint } from '../ports/wire.ts';

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
    const value = readVarint(this.bytes, this.position);
    if (value >= 0) this.position = endOfVarint();
    return value;
  }
}
