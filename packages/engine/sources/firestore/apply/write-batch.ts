/**
 * A BatchWrite request that is assembled from bytes: the fields are copied as they are, and only names, masks and
 * lengths are written around them. It knows the position of each write, so that single ones can be sent again.
 */

import { type RecordKind, recordKind, type Version } from '../../../ports/index.ts';
import { endOfVarint, readLength, readTag, varintBytes, writeVarint } from '../../../ports/wire.ts';
import type { DocumentSlices } from './document-slices.ts';

const defaultWritesMax = 500;
/** Firestore's limit is 10 MiB for the whole request. */
export const requestBytesMax = 10 * 1024 * 1024 - 64 * 1024;
const capacityFirst = 384 * 1024;
const prefixBytes = 5;
const writesTag = 0x12;
const updateTag = 0x0a;
const deleteTag = 0x12;
const maskTag = 0x1a;
const nameTag = 0x0a;
const preconditionTag = 0x22;
/** current_document { exists: false } */
const mustNotExist = Buffer.from([preconditionTag, 0x02, 0x08, 0x00]);
const nothing = Buffer.alloc(0);

export class WriteBatch {
  readonly #database: Buffer;
  readonly #root: Buffer;
  #buffer: Buffer;
  #length: number;
  /** Write i lies in [#starts[i], #starts[i + 1]), its tag and length included. */
  readonly #starts: number[] = [];
  /** How many bytes at the end of each write are its precondition. */
  readonly #preconditionBytes: number[] = [];
  /** A number for each write that the sender chooses, for example where its outcome belongs. */
  readonly slots: number[] = [];
  #lastNameStart = 0;
  #lastNameEnd = 0;
  #hasDeletes = false;

  constructor(database: string) {
    this.#database = Buffer.from(database);
    this.#root = Buffer.from(`${database}/documents/`);
    this.#buffer = Buffer.allocUnsafeSlow(capacityFirst);
    this.#buffer[prefixBytes] = 0x0a;
    this.#length = writeVarint(this.#buffer, prefixBytes + 1, this.#database.length);
    this.#length += this.#database.copy(this.#buffer, this.#length);
  }

  get count(): number {
    return this.#starts.length;
  }

  get hasDeletes(): boolean {
    return this.#hasDeletes;
  }

  get bytes(): number {
    return this.#length;
  }

  /** Whether a write fits, by an upper bound of its size. */
  fits(payloadBytes: number, writesMax = defaultWritesMax): boolean {
    if (this.count === 0) return true;
    return this.count < writesMax && this.#length + payloadBytes + this.#root.length + 64 <= requestBytesMax;
  }

  /** Firestore refuses a request that writes a document twice. Records ascend, so repetitions are neighbours. */
  isRepetition(bytes: Buffer, pathStart: number, pathEnd: number): boolean {
    const nameLength = this.#root.length + pathEnd - pathStart;
    if (this.count === 0 || this.#lastNameEnd - this.#lastNameStart !== nameLength) return false;
    const lastPathStart = this.#lastNameStart + this.#root.length;
    return bytes.compare(this.#buffer, lastPathStart, this.#lastNameEnd, pathStart, pathEnd) === 0;
  }

  add(kind: RecordKind, bytes: Buffer, slices: DocumentSlices, content: Buffer | undefined, how: WriteShape): void {
    const pathLength = slices.pathEnd - slices.pathStart;
    const nameLength = this.#root.length + pathLength;
    const nameField = 1 + varintBytes(nameLength) + nameLength;
    const precondition = encodePrecondition(how.expected);
    this.#preconditionBytes.push(precondition.length);
    this.slots.push(how.slot ?? this.count);
    if (kind === recordKind.delete) {
      this.#hasDeletes = true;
      this.#begin(nameField + precondition.length);
      this.#writeName(deleteTag, bytes, slices, nameLength);
      this.#length += precondition.copy(this.#buffer, this.#length);
      return;
    }
    const contentLength = content?.length ?? slices.contentEnd - slices.contentStart;
    const documentLength = nameField + contentLength;
    const maskLength = how.mask?.length ?? 0;
    const maskField = how.mask === undefined ? 0 : 1 + varintBytes(maskLength) + maskLength;
    this.#begin(1 + varintBytes(documentLength) + documentLength + maskField + precondition.length);
    this.#buffer[this.#length++] = updateTag;
    this.#length = writeVarint(this.#buffer, this.#length, documentLength);
    this.#writeName(nameTag, bytes, slices, nameLength);
    if (content !== undefined) this.#length += content.copy(this.#buffer, this.#length);
    else this.#length += bytes.copy(this.#buffer, this.#length, slices.contentStart, slices.contentEnd);
    if (how.mask !== undefined) {
      this.#buffer[this.#length++] = maskTag;
      this.#length = writeVarint(this.#buffer, this.#length, maskLength);
      this.#length += how.mask.copy(this.#buffer, this.#length);
    }
    this.#length += precondition.copy(this.#buffer, this.#length);
  }

  /** A batch of some of these writes, in their order. */
  pick(indices: readonly number[]): WriteBatch {
    const picked = this.#empty();
    for (const index of indices) {
      const start = this.#starts[index]!;
      const end = this.#starts[index + 1] ?? this.#length;
      picked.#reserve(end - start);
      picked.#take(this, index);
      picked.#length += this.#buffer.copy(picked.#buffer, picked.#length, start, end);
    }
    return picked;
  }

  /** The same writes with other expected versions; a merge gets the mask for that version. */
  pickOver(writes: readonly OverVersion[]): WriteBatch {
    const picked = this.#empty();
    for (const { index, expected, mask } of writes) {
      const precondition = encodePrecondition(expected);
      const maskField = mask === undefined ? nothing : encodeMaskField(mask);
      readLength(this.#buffer, this.#starts[index]! + 1, this.#length);
      const start = endOfVarint();
      const masked = (this.#starts[index + 1] ?? this.#length) - this.#preconditionBytes[index]!;
      const end = mask === undefined ? masked : this.#endOfDocument(start);
      picked.#take(this, index);
      picked.#preconditionBytes[picked.#preconditionBytes.length - 1] = precondition.length;
      picked.#starts.pop();
      picked.#begin(end - start + maskField.length + precondition.length);
      picked.#length += this.#buffer.copy(picked.#buffer, picked.#length, start, end);
      picked.#length += maskField.copy(picked.#buffer, picked.#length);
      picked.#length += precondition.copy(picked.#buffer, picked.#length);
    }
    return picked;
  }

  #endOfDocument(start: number): number {
    readTag(this.#buffer, start);
    const length = readLength(this.#buffer, endOfVarint(), this.#length);
    return endOfVarint() + length;
  }

  /** Bytes of one write, as it travels. */
  writeBytes(index: number): number {
    return (this.#starts[index + 1] ?? this.#length) - this.#starts[index]!;
  }

  #empty(): WriteBatch {
    const batch = new WriteBatch(this.#database.toString());
    batch.#hasDeletes = this.#hasDeletes;
    return batch;
  }

  #take(from: WriteBatch, index: number): void {
    this.#starts.push(this.#length);
    this.#preconditionBytes.push(from.#preconditionBytes[index]!);
    this.slots.push(from.slots[index]!);
  }

  /** The message with gRPC's prefix, ready for the wire. */
  framed(): Buffer {
    this.#buffer[0] = 0;
    this.#buffer.writeUInt32BE(this.#length - prefixBytes, 1);
    return this.#buffer.subarray(0, this.#length);
  }

  isDelete(index: number): boolean {
    readLength(this.#buffer, this.#starts[index]! + 1, this.#length);
    return this.#buffer[endOfVarint()] === deleteTag;
  }

  /** The Document of a put: its name and the fields that are written. */
  document(index: number): Buffer {
    readLength(this.#buffer, this.#starts[index]! + 1, this.#length);
    const tag = readTag(this.#buffer, endOfVarint());
    const length = readLength(this.#buffer, endOfVarint(), this.#length);
    if (tag !== updateTag) throw new Error('a delete has no document');
    return this.#buffer.subarray(endOfVarint(), endOfVarint() + length);
  }

  path(index: number): string {
    readLength(this.#buffer, this.#starts[index]! + 1, this.#length);
    if (readTag(this.#buffer, endOfVarint()) !== deleteTag) {
      readLength(this.#buffer, endOfVarint(), this.#length);
      readTag(this.#buffer, endOfVarint());
    }
    const length = readLength(this.#buffer, endOfVarint(), this.#length);
    const nameStart = endOfVarint();
    return this.#buffer.toString('utf8', nameStart + this.#root.length, nameStart + length);
  }

  #begin(writeLength: number): void {
    this.#reserve(writeLength + 8);
    this.#starts.push(this.#length);
    this.#buffer[this.#length++] = writesTag;
    this.#length = writeVarint(this.#buffer, this.#length, writeLength);
  }

  #writeName(tag: number, bytes: Buffer, slices: DocumentSlices, nameLength: number): void {
    this.#buffer[this.#length++] = tag;
    this.#length = writeVarint(this.#buffer, this.#length, nameLength);
    this.#lastNameStart = this.#length;
    this.#length += this.#root.copy(this.#buffer, this.#length);
    this.#length += bytes.copy(this.#buffer, this.#length, slices.pathStart, slices.pathEnd);
    this.#lastNameEnd = this.#length;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#length + more));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

export interface OverVersion {
  readonly index: number;
  readonly expected: Version | null;
  readonly mask?: Buffer | undefined;
}

export interface WriteShape {
  /** The version that may be written over; null: no document may exist; absent: any. */
  readonly expected?: Version | null | undefined;
  readonly slot?: number;
  /** A serialized DocumentMask; present in merge mode, also when it is empty. */
  readonly mask?: Buffer;
}

/** DocumentMask { field_paths }, cut off behind `bytesMax`. */
export function encodeMask(fieldPaths: Iterable<string>, bytesMax: number): Buffer {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (const path of fieldPaths) {
    if (bytes > bytesMax) break;
    const text = Buffer.from(path);
    const head = Buffer.allocUnsafe(1 + varintBytes(text.length));
    head[0] = 0x0a;
    writeVarint(head, 1, text.length);
    pieces.push(head, text);
    bytes += head.length + text.length;
  }
  return Buffer.concat(pieces);
}

/** Write.update_mask, its tag and length included. */
function encodeMaskField(mask: Buffer): Buffer {
  const head = Buffer.allocUnsafe(1 + varintBytes(mask.length));
  head[0] = maskTag;
  writeVarint(head, 1, mask.length);
  return Buffer.concat([head, mask]);
}

/** Write.current_document, its tag and length included; nothing when any version may be written over. */
function encodePrecondition(expected: Version | null | undefined): Buffer {
  if (expected === undefined) return nothing;
  if (expected === null) return mustNotExist;
  const { seconds, nanos } = expected;
  const timeLength = 1 + varintBytes(seconds) + (nanos === 0 ? 0 : 1 + varintBytes(nanos));
  const bytes = Buffer.allocUnsafe(4 + timeLength);
  bytes[0] = preconditionTag;
  bytes[1] = 2 + timeLength;
  bytes[2] = 0x12;
  bytes[3] = timeLength;
  bytes[4] = 0x08;
  const end = writeVarint(bytes, 5, seconds);
  if (nanos !== 0) {
    bytes[end] = 0x10;
    writeVarint(bytes, end + 1, nanos);
  }
  return bytes;
}
