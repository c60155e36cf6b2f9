/** Encodes a document of which REST told only name and times, in exactly the bytes of gRPC. */

import { parseInstantParts } from '../../../ports/index.ts';
import { writeVarint } from '../../../ports/wire.ts';
import { malformed } from './json-array-reader.ts';

/** Fields of google.firestore.v1.Document and of a Timestamp, each with its wire type. */
const nameTag = 0x0a;
const createTimeTag = 0x1a;
const updateTimeTag = 0x22;
const secondsTag = 0x08;
const nanosTag = 0x10;
/** Tags and lengths, and two times of 18 bytes at most. */
const besidesNameBytes = 64;
/** The most bytes in UTF-8 per UTF-16 unit. */
const bytesPerUnitMax = 3;

export interface NameAndTimes {
  readonly name?: unknown;
  readonly createTime?: unknown;
  readonly updateTime?: unknown;
}

export class NameDocumentEncoder {
  /** Holds the document encoded last. */
  bytes = Buffer.allocUnsafe(8 * 1024);

  /** Answers how long the document is. */
  encode({ name, createTime, updateTime }: NameAndTimes): number {
    // A lone surrogate would become a different name.
    if (typeof name !== 'string' || name === '' || !name.isWellFormed()) throw malformed('a document has no name');
    const bytesMax = besidesNameBytes + name.length * bytesPerUnitMax;
    if (bytesMax > this.bytes.length) this.bytes = Buffer.allocUnsafe(bytesMax);
    const { bytes } = this;
    bytes[0] = nameTag;
    let position = writeVarint(bytes, 1, Buffer.byteLength(name));
    position += bytes.write(name, position);
    position = writeTime(bytes, position, createTimeTag, createTime);
    return writeTime(bytes, position, updateTimeTag, updateTime);
  }
}

function writeTime(bytes: Buffer, offset: number, tag: number, text: unknown): number {
  if (text === undefined) return offset;
  const parts = typeof text === 'string' ? parseInstantParts(text) : undefined;
  if (parts === undefined || parts.seconds < 0) throw malformed('a document has a time that is none');
  bytes[offset] = tag;
  const start = offset + 2;
  let position = start;
  if (parts.seconds > 0) {
    bytes[position] = secondsTag;
    position = writeVarint(bytes, position + 1, parts.seconds);
  }
  if (parts.nanos > 0) {
    bytes[position] = nanosTag;
    position = writeVarint(bytes, position + 1, parts.nanos);
  }
  bytes[offset + 1] = position - start;
  return position;
}
