import type { ServerHttp2Stream } from 'node:http2';
import { varintBytes } from '../values/wire.ts';
import type { MessageOut } from './call.ts';
import { headerBytes } from './framing.ts';

const chunkBytes = 256 * 1024;
const poolChunksMax = 16;
const inFlightBytesMax = 4 * chunkBytes;

const pool: Buffer[] = [];

/**
 * Packs gRPC messages into large chunks before they reach HTTP/2: one write per message would cost more than the
 * message. At most a megabyte is unread at a time; `ready` waits for the reader to catch up.
 */
export class MessageStream implements MessageOut {
  readonly #stream: ServerHttp2Stream;
  #chunk: Buffer;
  #used = 0;
  #inFlightBytes = 0;
  #waiting: (() => void)[] = [];
  bytesSent = 0;
  chunksSent = 0;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    this.#chunk = pool.pop() ?? Buffer.allocUnsafeSlow(chunkBytes);
    stream.once('close', () => this.#wake());
  }

  /** The stored bytes are copied once, straight into the chunk that goes out. */
  appendField(tag: number, source: Buffer, start: number, end: number, tail: Uint8Array): void {
    const fieldBytes = end - start;
    const length = 1 + varintBytes(fieldBytes) + fieldBytes + tail.length;
    let at = this.#openMessage(length);
    const chunk = this.#chunk;
    chunk[at++] = tag;
    for (let rest = fieldBytes; ; rest >>>= 7) {
      if (rest < 0x80) {
        chunk[at++] = rest;
        break;
      }
      chunk[at++] = (rest & 0x7f) | 0x80;
    }
    source.copy(chunk, at, start, end);
    at += fieldBytes;
    for (let index = 0; index < tail.length; index++) chunk[at++] = tail[index]!;
    this.#used = at;
  }

  send(message: Uint8Array): void {
    const at = this.#openMessage(message.length);
    this.#chunk.set(message, at);
    this.#used = at + message.length;
  }

  /** Makes room for a message, writes its header and returns where its content goes. */
  #openMessage(length: number): number {
    const total = headerBytes + length;
    if (this.#used + total > this.#chunk.length) this.#turnChunk(total);
    const chunk = this.#chunk;
    const at = this.#used;
    chunk[at] = 0;
    chunk[at + 1] = length >>> 24;
    chunk[at + 2] = length >>> 16;
    chunk[at + 3] = length >>> 8;
    chunk[at + 4] = length;
    return at + headerBytes;
  }

  /** Passes what is packed so far to HTTP/2. */
  flush(): void {
    if (this.#used === 0 || this.#stream.destroyed) return;
    const chunk = this.#chunk;
    const used = this.#used;
    this.#chunk = pool.pop() ?? Buffer.allocUnsafeSlow(chunkBytes);
    this.#used = 0;
    this.bytesSent += used;
    this.chunksSent += 1;
    this.#inFlightBytes += used;
    this.#stream.write(chunk.length === used ? chunk : chunk.subarray(0, used), () => {
      this.#inFlightBytes -= used;
      if (chunk.length === chunkBytes && pool.length < poolChunksMax) pool.push(chunk);
      if (!this.congested) this.#wake();
    });
  }

  get pendingBytes(): number {
    return this.#used;
  }

  get congested(): boolean {
    return this.#inFlightBytes >= inFlightBytesMax && !this.#stream.destroyed;
  }

  async ready(): Promise<void> {
    while (this.congested) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #turnChunk(neededBytes: number): void {
    this.flush();
    if (neededBytes > this.#chunk.length) this.#chunk = Buffer.allocUnsafeSlow(neededBytes);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
