import { GcsError } from './errors.ts';

const headersBytesMax = 16 * 1024;
const metadataBytesMax = 1024 * 1024;

/**
 * Reads a `multipart/related` upload as it arrives: the first part is the object's description and is kept, the second
 * is the object's bytes and is passed on piece by piece.
 */
export class MultipartRelated {
  readonly #delimiter: Buffer;
  #state: 'preamble' | 'afterDelimiter' | 'headers' | 'body' | 'done' = 'preamble';
  #part = 0;
  // As if the body began with a line break: then the first delimiter looks like all others.
  #pending: Buffer = Buffer.from('\r\n');
  #metadata: Buffer[] = [];
  #metadataBytes = 0;
  mediaContentType: string | undefined;

  constructor(contentType: string) {
    const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
    if (!boundary || !/^multipart\/related/i.test(contentType))
      throw new GcsError('invalid', 'A multipart upload needs Content-Type: multipart/related with a boundary.');
    this.#delimiter = Buffer.from(`\r\n--${boundary[1] ?? boundary[2]}`);
  }

  /** The bytes of the object within this piece of the body. */
  push(bytes: Buffer): Buffer[] {
    let rest: Buffer = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes;
    this.#pending = Buffer.alloc(0);
    const media: Buffer[] = [];
    for (;;) {
      const next = this.#step(rest, media);
      if (next === undefined) break;
      rest = next;
    }
    return media;
  }

  finish(): string {
    if (this.#state !== 'done' || this.#part !== 2)
      throw new GcsError('invalid', 'Malformed multipart body: it must have exactly two parts.');
    return Buffer.concat(this.#metadata).toString('utf8');
  }

  /** Consumes what it can and returns the rest; or keeps the rest until more arrives and returns undefined. */
  #step(rest: Buffer, media: Buffer[]): Buffer | undefined {
    switch (this.#state) {
      case 'done':
        return undefined;
      case 'headers': {
        const end = rest.indexOf('\r\n\r\n');
        if (end === -1) return this.#wait(rest, headersBytesMax);
        const type = /^content-type:\s*(.+)$/im.exec(rest.subarray(0, end).toString('latin1'));
        if (this.#part === 2) this.mediaContentType = type?.[1]?.trim();
        this.#state = 'body';
        return rest.subarray(end + 4);
      }
      case 'afterDelimiter': {
        if (rest.length < 2) return this.#wait(rest, 2);
        if (rest.subarray(0, 2).toString('latin1') === '--') {
          this.#state = 'done';
          return undefined;
        }
        this.#part++;
        this.#state = 'headers';
        // Headers may be empty, so the line break after the delimiter is kept for the next search.
        return rest;
      }
      default:
        return this.#content(rest, media);
    }
  }

  #content(rest: Buffer, media: Buffer[]): Buffer | undefined {
    const found = rest.indexOf(this.#delimiter);
    const sure = found === -1 ? Math.max(0, rest.length - this.#delimiter.length + 1) : found;
    if (this.#state === 'body') this.#give(rest.subarray(0, sure), media);
    if (found === -1) {
      this.#pending = Buffer.from(rest.subarray(sure));
      return undefined;
    }
    this.#state = 'afterDelimiter';
    return rest.subarray(found + this.#delimiter.length);
  }

  #give(bytes: Buffer, media: Buffer[]): void {
    if (bytes.length === 0) return;
    if (this.#part === 2) media.push(bytes);
    else if (this.#part === 1) {
      this.#metadataBytes += bytes.length;
      if (this.#metadataBytes > metadataBytesMax) throw new GcsError('invalid', 'The metadata is too large.');
      this.#metadata.push(Buffer.from(bytes));
    } else throw new GcsError('invalid', 'Malformed multipart body: it must have exactly two parts.');
  }

  #wait(rest: Buffer, bytesMax: number): undefined {
    if (rest.length > bytesMax) throw new GcsError('invalid', 'Malformed multipart body: part headers are too long.');
    this.#pending = Buffer.from(rest);
    return undefined;
  }
}
