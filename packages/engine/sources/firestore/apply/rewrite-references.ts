/**
 * Moves reference values from one database to another inside the serialized fields of a document. Only the references
 * and the lengths of what encloses them change; every other byte stays as it was.
 */

import { endOfVarint, readLength, readTag, skipField, varintBytes, writeVarint } from '../../../ports/wire.ts';

/** Tags of google.firestore.v1.Value and of the messages inside it. */
const referenceValue = 0x2a;
const mapValue = 0x32;
const arrayValue = 0x4a;
/** Document.fields and MapValue.fields are map entries, ArrayValue.values are values. */
const documentEntry = 0x12;
const mapEntry = 0x0a;
const arrayEntry = 0x0a;
const entryValue = 0x12;

type Rewrite = (bytes: Buffer, start: number, end: number) => Buffer | undefined;

export class ReferenceRewriter {
  readonly #from: Buffer;
  readonly #to: Buffer;
  /**
   * The next position of the source's prefix in the last searched bytes, so that documents without references are not
   * parsed.
   */
  #searched: Buffer | undefined;
  #nextHit = -1;

  /** Databases as `projects/{project}/databases/{database}`. */
  constructor(fromDatabase: string, toDatabase: string) {
    this.#from = Buffer.from(`${fromDatabase}/documents/`);
    this.#to = Buffer.from(`${toDatabase}/documents/`);
  }

  /** The rewritten fields, or undefined when nothing in bytes[start, end) refers to the source. */
  rewrite(bytes: Buffer, start: number, end: number): Buffer | undefined {
    if (!this.#mayRefer(bytes, start, end)) return undefined;
    return this.#message(bytes, start, end, documentEntry, this.#entry);
  }

  #mayRefer(bytes: Buffer, start: number, end: number): boolean {
    if (this.#searched !== bytes || (this.#nextHit !== -1 && this.#nextHit < start)) {
      this.#searched = bytes;
      this.#nextHit = bytes.indexOf(this.#from, start);
    }
    return this.#nextHit !== -1 && this.#nextHit < end;
  }

  readonly #entry: Rewrite = (bytes, start, end) => this.#message(bytes, start, end, entryValue, this.#value);

  readonly #value: Rewrite = (bytes, start, end) => {
    const tag = start < end ? readTag(bytes, start) : 0;
    if (tag === referenceValue) return this.#message(bytes, start, end, referenceValue, this.#reference);
    if (tag === mapValue) return this.#message(bytes, start, end, mapValue, this.#map);
    if (tag === arrayValue) return this.#message(bytes, start, end, arrayValue, this.#array);
    return undefined;
  };

  readonly #map: Rewrite = (bytes, start, end) => this.#message(bytes, start, end, mapEntry, this.#entry);

  readonly #array: Rewrite = (bytes, start, end) => this.#message(bytes, start, end, arrayEntry, this.#value);

  readonly #reference: Rewrite = (bytes, start, end) => {
    const isPrefix =
      end - start > this.#from.length &&
      bytes.compare(this.#from, 0, this.#from.length, start, start + this.#from.length) === 0;
    return isPrefix ? Buffer.concat([this.#to, bytes.subarray(start + this.#from.length, end)]) : undefined;
  };

  /** Walks a message and rewrites the content of its fields with one tag; undefined when none changed. */
  #message(bytes: Buffer, start: number, end: number, wanted: number, rewrite: Rewrite): Buffer | undefined {
    let pieces: Buffer[] | undefined;
    let copiedUntil = start;
    let position = start;
    while (position < end) {
      const tag = readTag(bytes, position);
      const contentAt = endOfVarint();
      const next = skipField(bytes, tag, contentAt, end);
      if (tag === wanted) {
        const contentStart = next - readLength(bytes, contentAt, end);
        const changed = rewrite(bytes, contentStart, next);
        if (changed !== undefined) {
          pieces ??= [];
          pieces.push(bytes.subarray(copiedUntil, contentAt), lengthOf(changed), changed);
          copiedUntil = next;
        }
      }
      position = next;
    }
    if (pieces === undefined) return undefined;
    pieces.push(bytes.subarray(copiedUntil, end));
    return Buffer.concat(pieces);
  }
}

function lengthOf(content: Buffer): Buffer {
  const length = Buffer.allocUnsafe(varintBytes(content.length));
  writeVarint(length, 0, content.length);
  return length;
}
