import type { ServerHttp2Stream } from 'node:http2';
import { varintBytes } from '../values/wire.ts';
import { HEADER_BYTES } from './framing.ts';

const CHUNK_BYTES = 256 * 1024;
const POOL_CHUNKS_MAX = 16;
const IN_FLIGHT_BYTES_MAX = 4 * CHUNK_BYTES;

const pool: Buffer[] = [];

/**
 * Packs gRPC messages into large chunks before they reach HTTP/2: one write per message would cost more than the
 * message. At most a megabyte is on its way at a time; `ready` waits for the reader to catch up.
 */
export class MessageStream {
  private readonly stream: ServerHttp2Stream;
  private chunk: Buffer;
  private used = 0;
  private inFlightBytes = 0;
  private waiting: (() => void)[] = [];
  bytesSent = 0;

  constructor(stream: ServerHttp2Stream) {
    this.stream = stream;
    this.chunk = pool.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
    stream.once('close', () => this.wake());
  }

  /**
   * Appends a message that is one length-delimited field (a document as it is stored) and a tail (the rest of the
   * message, already encoded): the stored bytes are copied once, straight into the chunk that goes out.
   */
  appendField(tag: number, source: Buffer, start: number, end: number, tail: Uint8Array): void {
    const fieldBytes = end - start;
    const length = 1 + varintBytes(fieldBytes) + fieldBytes + tail.length;
    let at = this.openMessage(length);
    const { chunk } = this;
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
    this.used = at;
  }

  send(message: Uint8Array): void {
    const at = this.openMessage(message.length);
    this.chunk.set(message, at);
    this.used = at + message.length;
  }

  /** Makes room for a message, writes its header and returns where its content goes. */
  private openMessage(length: number): number {
    const total = HEADER_BYTES + length;
    if (this.used + total > this.chunk.length) this.turnChunk(total);
    const { chunk } = this;
    const at = this.used;
    chunk[at] = 0;
    chunk[at + 1] = length >>> 24;
    chunk[at + 2] = length >>> 16;
    chunk[at + 3] = length >>> 8;
    chunk[at + 4] = length;
    return at + HEADER_BYTES;
  }

  /** Hands what is packed so far to HTTP/2. */
  flush(): void {
    if (this.used === 0 || this.stream.destroyed) return;
    const { chunk } = this;
    const { used } = this;
    this.chunk = pool.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
    this.used = 0;
    this.bytesSent += used;
    this.inFlightBytes += used;
    this.stream.write(chunk.length === used ? chunk : chunk.subarray(0, used), () => {
      this.inFlightBytes -= used;
      if (chunk.length === CHUNK_BYTES && pool.length < POOL_CHUNKS_MAX) pool.push(chunk);
      if (!this.congested) this.wake();
    });
  }

  /** Packed, but not handed on yet. */
  get pendingBytes(): number {
    return this.used;
  }

  get congested(): boolean {
    return this.inFlightBytes >= IN_FLIGHT_BYTES_MAX && !this.stream.destroyed;
  }

  /** Resolves once there is room again, or the stream is gone. */
  async ready(): Promise<void> {
    while (this.congested) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private turnChunk(neededBytes: number): void {
    this.flush();
    if (neededBytes > this.chunk.length) this.chunk = Buffer.allocUnsafeSlow(neededBytes);
  }

  private wake(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}
