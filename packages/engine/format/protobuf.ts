import { EngineError } from '../ports/errors.ts';
import { endOfVarint, readVarint, varintBytes, writeVarint } from '../ports/wire.ts';

const varintBytesMax = 10;

/** The small part of the Protocol Buffers wire format that documents and entities use. */
export class ProtobufReader {
  readonly bytes: Uint8Array;
  position: number;
  readonly end: number;
  /** The same bytes. Readers of nested messages share it: making one costs as much as reading a small message. */
  readonly #buffer: Buffer;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length, buffer = bufferOf(bytes)) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.#buffer = buffer;
  }

  get isAtEnd(): boolean {
    return this.position >= this.end;
  }

  /** Tags, lengths and other numbers below 2^53. */
  varint(): number {
    const value = readVarint(this.bytes, this.position);
    if (value < 0 || value > Number.MAX_SAFE_INTEGER || endOfVarint() > this.end) throw malformed();
    this.position = endOfVarint();
    return value;
  }

  varint64(): bigint {
    let low = 0;
    let scale = 1;
    for (let count = 0; count < 7; count += 1) {
      const byte = this.#byte();
      low += (byte & 0x7f) * scale;
      if (byte < 0x80) return BigInt(low);
      scale *= 128;
    }
    let value = BigInt(low);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw malformed();
  }

  int64(): bigint {
    return BigInt.asIntN(64, this.varint64());
  }

  /** As decimal text. Almost all numbers are small and need no bigint. */
  int64Text(): string {
    const value = readVarint(this.bytes, this.position);
    if (value < 0 || value > Number.MAX_SAFE_INTEGER || endOfVarint() > this.end) return String(this.int64());
    this.position = endOfVarint();
    return String(value);
  }

  double(): number {
    this.#need(8);
    const value = this.#buffer.readDoubleLE(this.position);
    this.position += 8;
    return value;
  }

  string(): string {
    const { start, end } = this.block();
    return this.#buffer.toString('utf8', start, end);
  }

  bytesField(): Uint8Array {
    const { start, end } = this.block();
    return this.bytes.subarray(start, end);
  }

  /** A reader of the length-delimited field at the cursor; the cursor moves behind it. */
  message(): ProtobufReader {
    const { start, end } = this.block();
    return new ProtobufReader(this.bytes, start, end, this.#buffer);
  }

  block(): { start: number; end: number } {
    const length = this.varint();
    this.#need(length);
    const start = this.position;
    this.position += length;
    return { start, end: this.position };
  }

  skip(wireType: number): void {
    if (wireType === 0) this.varint64();
    else if (wireType === 1) this.#advance(8);
    else if (wireType === 2) this.block();
    else if (wireType === 5) this.#advance(4);
    else throw malformed();
  }

  #advance(count: number): void {
    this.#need(count);
    this.position += count;
  }

  #need(count: number): void {
    if (this.position + count > this.end) throw malformed();
  }

  #byte(): number {
    if (this.position >= this.end) throw malformed();
    const byte = this.bytes[this.position]!;
    this.position += 1;
    return byte;
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

export function malformed(): EngineError {
  return new EngineError('INTEGRITY_ERROR', 'Bytes that should be a Protocol Buffers message are none.');
}

/** Appends fields. A nested message is written in place, and its length is inserted before it afterwards. */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafeSlow(256);
  #length = 0;

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  tag(field: number, wireType: number): this {
    return this.#number(field * 8 + wireType);
  }

  varint(field: number, value: bigint | number): this {
    this.tag(field, 0);
    if (typeof value === 'number' && value >= 0) return this.#number(value);
    let rest = BigInt.asUintN(64, BigInt(value));
    if (rest <= Number.MAX_SAFE_INTEGER) return this.#number(Number(rest));
    this.#reserve(varintBytesMax);
    while (rest >= 0x80n) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
    return this;
  }

  double(field: number, value: number): this {
    this.tag(field, 1);
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    return this;
  }

  string(field: number, value: string): this {
    const length = Buffer.byteLength(value);
    this.tag(field, 2).#number(length).#reserve(length);
    this.#length += this.#bytes.write(value, this.#length, 'utf8');
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.tag(field, 2).#number(value.length).#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  message(field: number, write: (writer: ProtobufWriter) => void): this {
    this.tag(field, 2).#number(0);
    const start = this.#length;
    write(this);
    const length = this.#length - start;
    // One byte was reserved for the length; most messages need no more.
    const more = varintBytes(length) - 1;
    this.#reserve(more);
    if (more > 0) this.#bytes.copyWithin(start + more, start, this.#length);
    writeVarint(this.#bytes, start - 1, length);
    this.#length += more;
    return this;
  }

  #number(value: number): this {
    this.#reserve(varintBytesMax);
    this.#length = writeVarint(this.#bytes, this.#length, value);
    return this;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + count));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
