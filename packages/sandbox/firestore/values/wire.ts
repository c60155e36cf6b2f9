import { invalid } from '../transport/status.ts';

/** Protobuf wire types. Groups (3, 4) are refused: no Firestore message has ever used them. */
export const varint = 0;
export const fixed64 = 1;
export const lengthDelimited = 2;
const fixed32 = 5;

const safeHigh = 0x200000;

function malformed(): never {
  throw invalid('Request contains malformed protocol buffer data.');
}

/**
 * Reads protobuf wire data in place. Documents are stored and served as the bytes in which they arrived, so filters,
 * masks and checks read those bytes instead of a decoded copy.
 */
export class WireReader {
  readonly bytes: Uint8Array;
  position: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    if (end > bytes.length) malformed();
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  get more(): boolean {
    return this.position < this.end;
  }

  byte(): number {
    if (this.position >= this.end) malformed();
    return this.bytes[this.position++]!;
  }

  /** Reads a tag or a length. */
  uint32(): number {
    let byte = this.byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return malformed();
  }

  /** Reads an int64: a number where it is exact, else a bigint. */
  int64(): number | bigint {
    let low = 0;
    let high = 0;
    for (let index = 0; index < 10; index++) {
      const byte = this.byte();
      const part = byte & 0x7f;
      if (index < 4) low |= part << (7 * index);
      else if (index === 4) {
        low |= part << 28;
        high = part >>> 4;
      } else high |= part << (7 * index - 32);
      if (byte < 0x80) return joinInt64(high | 0, low >>> 0);
    }
    return malformed();
  }

  double(): number {
    const at = this.#advance(8);
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + at, 8).getFloat64(0, true);
  }

  /** Steps over a length-delimited field's content and returns where it starts; it ends at the new position. */
  delimited(): number {
    return this.#advance(this.uint32());
  }

  skip(wireType: number): void {
    if (wireType === varint) this.int64();
    else if (wireType === fixed64) this.#advance(8);
    else if (wireType === lengthDelimited) this.delimited();
    else if (wireType === fixed32) this.#advance(4);
    else malformed();
  }

  #advance(length: number): number {
    const start = this.position;
    if (length > this.end - start) malformed();
    this.position = start + length;
    return start;
  }
}

/** How many bytes a length takes as a varint. */
export function varintBytes(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
}

function joinInt64(high: number, low: number): number | bigint {
  if (high >= -safeHigh && high < safeHigh) return high * 0x1_0000_0000 + low;
  return (BigInt(high) << 32n) | BigInt(low);
}

/** Writes protobuf wire data; grows as needed. Fields go out in the order of the calls. */
export class WireWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(capacityBytes = 256) {
    this.#buffer = Buffer.allocUnsafe(capacityBytes);
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  varint(value: number): this {
    this.#reserve(10);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
    return this;
  }

  int64(value: number | bigint): this {
    if (typeof value === 'number' && value >= 0) return this.varint(value);
    this.#reserve(10);
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest >= 0x80n) {
      this.#buffer[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#length++] = Number(rest);
    return this;
  }

  tag(field: number, wireType: number): this {
    return this.varint(field * 8 + wireType);
  }

  double(value: number): this {
    this.#reserve(8);
    this.#buffer.writeDoubleLE(value, this.#length);
    this.#length += 8;
    return this;
  }

  raw(bytes: Uint8Array, start = 0, end = bytes.length): this {
    this.#reserve(end - start);
    this.#buffer.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), this.#length);
    this.#length += end - start;
    return this;
  }

  delimited(field: number, bytes: Uint8Array): this {
    return this.tag(field, lengthDelimited).varint(bytes.length).raw(bytes);
  }

  string(field: number, text: string): this {
    return this.delimited(field, Buffer.from(text, 'utf8'));
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + bytes));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}
