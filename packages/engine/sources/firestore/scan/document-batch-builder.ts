/**
 * Collects documents into record batches with one copy per document. Parses names only where a batch begins and ends.
 */

import {
  pathOfName,
  type RecordBatch,
  type RecordKind,
  recordHeaderBytes,
  writeRecordHeader,
} from '../../../ports/index.ts';
import { endOfVarint, MalformedMessage, readLength, readTag, skipField } from '../../../ports/wire.ts';

export const batchBytesTarget = 512 * 1024;

/** Returned buffers for reuse; more are never in use at once. */
const freeMax = 4;

export class DocumentBatchBuilder {
  readonly #capacity: number;
  readonly #free: Buffer[] = [];
  #buffer: Buffer;
  #length = 0;
  #count = 0;
  #firstStart = 0;
  #firstEnd = 0;
  #lastStart = 0;
  #lastEnd = 0;

  constructor(capacity = batchBytesTarget) {
    this.#capacity = capacity;
    this.#buffer = empty;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether a body of this many bytes would make the batch larger than it should be. */
  isFullFor(bodyBytes: number): boolean {
    return this.#count > 0 && this.#length + recordHeaderBytes + bodyBytes > this.#capacity;
  }

  append(kind: RecordKind, source: Buffer, start: number, end: number): void {
    const size = end - start;
    const next = this.#length + recordHeaderBytes + size;
    if (next > this.#buffer.length) this.#grow(next);
    const bodyStart = this.#length + recordHeaderBytes;
    writeRecordHeader(this.#buffer, this.#length, kind, size);
    source.copy(this.#buffer, bodyStart, start, end);
    if (this.#count === 0) {
      this.#firstStart = bodyStart;
      this.#firstEnd = next;
    }
    this.#lastStart = bodyStart;
    this.#lastEnd = next;
    this.#length = next;
    this.#count += 1;
  }

  /** Full resource name of the document appended last. */
  lastName(): string {
    return nameOfDocument(this.#buffer, this.#lastStart, this.#lastEnd);
  }

  /** Returns the batch and starts a new one; undefined when it is empty. */
  take(): RecordBatch | undefined {
    if (this.#count === 0) return undefined;
    const buffer = this.#buffer;
    const batch: RecordBatch = {
      bytes: buffer.subarray(0, this.#length),
      count: this.#count,
      firstPath: pathOfName(nameOfDocument(buffer, this.#firstStart, this.#firstEnd)),
      lastPath: pathOfName(this.lastName()),
      release: () => this.#takeBack(buffer),
    };
    this.#buffer = empty;
    this.#length = 0;
    this.#count = 0;
    return batch;
  }

  #takeBack(buffer: Buffer): void {
    const isOurSize = buffer.length === this.#capacity;
    if (isOurSize && this.#free.length < freeMax && !this.#free.includes(buffer)) this.#free.push(buffer);
  }

  /** Not from Node's shared pool: the receiver owns the whole buffer. */
  #grow(needed: number): void {
    const size = Math.max(this.#capacity, needed);
    const larger = (size === this.#capacity ? this.#free.pop() : undefined) ?? Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

const empty = Buffer.alloc(0);
const nameTag = 0x0a;

/** Reads the name (field 1) of a serialized Document. */
export function nameOfDocument(bytes: Buffer, start: number, end: number): string {
  let position = start;
  while (position < end) {
    const tag = readTag(bytes, position);
    const contentAt = endOfVarint();
    if (tag !== nameTag) {
      position = skipField(bytes, tag, contentAt, end);
      continue;
    }
    const length = readLength(bytes, contentAt, end);
    return bytes.toString('utf8', endOfVarint(), endOfVarint() + length);
  }
  throw new MalformedMessage();
}
