import { EngineError } from '../ports/errors.ts';
import type { ByteSource } from './json-reader.ts';

/** The largest document, full of `false` values, takes about 23 MiB as typed JSON. */
const lineBytesMax = 32 * 1024 * 1024;
const newline = 0x0a;

/** The lines of a stream of bytes, one after another. No line is kept in memory. */
export class Lines {
  readonly #source: ByteSource;
  readonly #key: string;
  #piece: Uint8Array = new Uint8Array(0);
  #at = 0;
  #number = 0;
  #lineBytes = 0;
  #isRead = true;
  #isCut = false;

  constructor(source: ByteSource, key: string) {
    this.#source = source;
    this.#key = key;
  }

  /** The line as errors name it. */
  get name(): string {
    return `Line ${this.#number} of ${this.#key}`;
  }

  /** Whether the line ended at the end of the file, without a line break. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Advances to the next line; the previous one must have been read. False at the end. */
  begin(): boolean {
    if (!this.#hasMore()) return false;
    this.#number += 1;
    this.#lineBytes = 0;
    this.#isRead = false;
    return true;
  }

  /** The bytes of the current line, without the line break. */
  readonly bytes: ByteSource = () => {
    if (this.#isRead) return undefined;
    if (!this.#hasMore()) {
      this.#isRead = true;
      this.#isCut = true;
      return undefined;
    }
    const end = this.#piece.indexOf(newline, this.#at);
    this.#isRead = end >= 0;
    const part = this.#piece.subarray(this.#at, this.#isRead ? end : this.#piece.length);
    this.#at = this.#isRead ? end + 1 : this.#piece.length;
    this.#lineBytes += part.length;
    if (this.#lineBytes > lineBytesMax)
      throw new EngineError('VALIDATION_ERROR', `${this.name} is refused: it has more than ${lineBytesMax} bytes.`);
    return part;
  };

  #hasMore(): boolean {
    while (this.#at >= this.#piece.length) {
      const piece = this.#source();
      if (piece === undefined) return false;
      this.#piece = piece;
      this.#at = 0;
    }
    return true;
  }
}
