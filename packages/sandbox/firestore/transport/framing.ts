import { gunzipSync, inflateSync } from 'node:zlib';
import { invalid, RpcError } from './status.ts';

/** Bytes before each gRPC message: a flag for compression and the length. */
export const headerBytes = 5;

/** Cuts an incoming byte stream into gRPC messages. Holds at most one unfinished message. */
export class MessageSplitter {
  #chunks: Buffer[] = [];
  #length = 0;
  readonly #messageBytesMax: number;
  readonly #encoding: string;

  constructor(messageBytesMax: number, encoding: string) {
    this.#messageBytesMax = messageBytesMax;
    this.#encoding = encoding;
  }

  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const messages: Buffer[] = [];
    for (let next = this.#take(); next !== undefined; next = this.#take()) messages.push(next);
    return messages;
  }

  #take(): Buffer | undefined {
    if (this.#length < headerBytes) return undefined;
    if (this.#chunks[0]!.length < headerBytes) this.#chunks = [Buffer.concat(this.#chunks)];
    const head = this.#chunks[0]!;
    const size = head.readUInt32BE(1);
    if (size > this.#messageBytesMax) {
      throw invalid(`Request payload size exceeds the limit: ${this.#messageBytesMax} bytes.`);
    }
    const total = headerBytes + size;
    if (this.#length < total) return undefined;
    const joined = this.#chunks.length === 1 ? head : Buffer.concat(this.#chunks);
    this.#chunks = joined.length === total ? [] : [joined.subarray(total)];
    this.#length = joined.length - total;
    return this.#decompress(joined[0]!, joined.subarray(headerBytes, total));
  }

  #decompress(flag: number, message: Buffer): Buffer {
    if (flag === 0) return message;
    const limits = { maxOutputLength: this.#messageBytesMax };
    if (this.#encoding === 'gzip') return gunzipSync(message, limits);
    if (this.#encoding === 'deflate') return inflateSync(message, limits);
    throw new RpcError('UNIMPLEMENTED', `Message encoding ${this.#encoding} is not supported.`);
  }
}

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(headerBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, headerBytes);
  return framed;
}

/** gRPC sends messages of a status percent-encoded. */
export function encodeStatusMessage(message: string): string {
  let encoded = '';
  for (const byte of Buffer.from(message, 'utf8')) {
    encoded +=
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}
