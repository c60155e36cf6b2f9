/**
 * Extracts the elements of a JSON array that arrives in pieces of any size. Keeps only the incomplete element in
 * memory. The response is complete only when the array is closed.
 */

import { GrpcError, grpcCode } from '../transport/status.ts';

/** A name has at most 6 KiB, escaped 36 KiB. A longer element will not end in time either. */
const elementBytesMax = 1024 * 1024;

const byteOf = (character: string) => character.charCodeAt(0);
const quote = byteOf('"');
const backslash = byteOf('\\');
const openBrace = byteOf('{');
const closeBrace = byteOf('}');
const openBracket = byteOf('[');
const closeBracket = byteOf(']');
const comma = byteOf(',');
const spaces: readonly number[] = [' ', '\n', '\r', '\t'].map(byteOf);

/** What may come next outside an element. */
type Place = 'start' | 'elementOrEnd' | 'element' | 'commaOrEnd' | 'closed';

export class JsonArrayReader {
  readonly #onElement: (element: unknown) => void;
  #place: Place = 'start';
  /** Open braces in the current element; 0 between elements. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #held = Buffer.alloc(0);
  #heldBytes = 0;
  #bytesSinceElement = 0;

  constructor(onElement: (element: unknown) => void) {
    this.#onElement = onElement;
  }

  push(chunk: Buffer): void {
    let position = 0;
    while (position < chunk.length) {
      if (this.#depth === 0) {
        const start = this.#toElement(chunk, position);
        if (start < 0) break;
        position = start;
      }
      const end = this.#endOfElement(chunk, position);
      if (end < 0) {
        this.#hold(chunk, position);
        break;
      }
      this.#take(chunk, position, end);
      position = end;
      this.#bytesSinceElement = -position;
    }
    this.#bytesSinceElement += chunk.length;
    if (this.#bytesSinceElement > elementBytesMax) throw malformed('an element of it does not end');
  }

  /** Throws unless the array is complete. */
  end(): void {
    if (this.#place !== 'closed') throw new GrpcError(grpcCode.UNAVAILABLE, 'the answer ended before its end');
  }

  /** Where the next element begins; negative when there is none in this chunk. */
  #toElement(chunk: Buffer, from: number): number {
    for (let position = from; position < chunk.length; position += 1) {
      const byte = chunk[position]!;
      const place = this.#place;
      if (byte === openBrace && (place === 'element' || place === 'elementOrEnd')) return position;
      if (spaces.includes(byte)) continue;
      if (byte === openBracket && place === 'start') this.#place = 'elementOrEnd';
      else if (byte === comma && place === 'commaOrEnd') this.#place = 'element';
      else if (byte === closeBracket && (place === 'commaOrEnd' || place === 'elementOrEnd')) this.#place = 'closed';
      else throw malformed('it is no array of objects');
    }
    return -1;
  }

  /** Continues in the current element; negative when it does not end in this chunk. */
  #endOfElement(chunk: Buffer, from: number): number {
    let depth = this.#depth;
    let isInString = this.#isInString;
    let position = from;
    if (this.#isEscaped && position < chunk.length) {
      position += 1;
      this.#isEscaped = false;
    }
    for (; position < chunk.length; position += 1) {
      const byte = chunk[position]!;
      if (isInString) {
        if (byte === quote) isInString = false;
        else if (byte === backslash) position += 1;
      } else if (byte === quote) isInString = true;
      else if (byte === openBrace) depth += 1;
      else if (byte === closeBrace) {
        depth -= 1;
        if (depth === 0) break;
      }
    }
    this.#depth = depth;
    this.#isInString = isInString;
    // A backslash at the end escapes the first byte of the next chunk.
    this.#isEscaped = position > chunk.length;
    return position < chunk.length ? position + 1 : -1;
  }

  #hold(chunk: Buffer, from: number): void {
    const needed = this.#heldBytes + chunk.length - from;
    if (needed > elementBytesMax) throw malformed('an element of it does not end');
    if (needed > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#held.length * 2));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    chunk.copy(this.#held, this.#heldBytes, from);
    this.#heldBytes = needed;
  }

  #take(chunk: Buffer, start: number, end: number): void {
    let text: string;
    if (this.#heldBytes === 0) text = chunk.toString('utf8', start, end);
    else {
      text = Buffer.concat([this.#held.subarray(0, this.#heldBytes), chunk.subarray(start, end)]).toString('utf8');
      this.#heldBytes = 0;
    }
    this.#place = 'commaOrEnd';
    this.#onElement(parse(text));
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed('an element of it cannot be read', error);
  }
}

/**
 * A transient error: a damaged response is requested again, and a server that always sends damaged ones is not asked
 * over REST any more.
 */
export function malformed(reason: string, cause?: unknown): GrpcError {
  return new GrpcError(grpcCode.INTERNAL, `the answer is damaged: ${reason}`, { cause });
}
