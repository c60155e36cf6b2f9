/**
 * Splits the chunks of HTTP/2 into gRPC messages. A message inside one chunk is passed on in place; only messages that
 * span chunks are copied together first. The receiver must copy what it keeps.
 */

export type MessageHandler = (bytes: Buffer, start: number, end: number) => void;

const prefixBytes = 5;
const messageBytesMax = 64 * 1024 * 1024;

export class Deframer {
  readonly #onMessage: MessageHandler;
  readonly #prefix = Buffer.alloc(prefixBytes);
  #prefixFilled = 0;
  #partial: Buffer | undefined;
  #partialFilled = 0;

  constructor(onMessage: MessageHandler) {
    this.#onMessage = onMessage;
  }

  /** True between messages; a stream that ends inside a message was cut off. */
  get isAtBoundary(): boolean {
    return this.#prefixFilled === 0 && this.#partial === undefined;
  }

  push(chunk: Buffer): void {
    let position = this.#finishPartial(chunk);
    const end = chunk.length;
    while (end - position >= prefixBytes) {
      const length = messageLength(chunk, position);
      const bodyStart = position + prefixBytes;
      if (length > end - bodyStart) {
        this.#startPartial(length, chunk, bodyStart);
        return;
      }
      position = bodyStart + length;
      this.#onMessage(chunk, bodyStart, position);
    }
    if (position < end) this.#prefixFilled += chunk.copy(this.#prefix, this.#prefixFilled, position, end);
  }

  #startPartial(length: number, chunk: Buffer, from: number): void {
    this.#partial = Buffer.allocUnsafe(length);
    this.#partialFilled = chunk.copy(this.#partial, 0, from);
  }

  /** Completes the message that the previous chunk left open; returns where the next message begins. */
  #finishPartial(chunk: Buffer): number {
    let position = 0;
    if (this.#prefixFilled > 0) {
      position = chunk.copy(this.#prefix, this.#prefixFilled, 0, prefixBytes - this.#prefixFilled);
      this.#prefixFilled += position;
      if (this.#prefixFilled < prefixBytes) return position;
      this.#prefixFilled = 0;
      this.#partial = Buffer.allocUnsafe(messageLength(this.#prefix, 0));
      this.#partialFilled = 0;
    }
    const partial = this.#partial;
    if (partial === undefined) return position;
    const copied = chunk.copy(partial, this.#partialFilled, position);
    this.#partialFilled += copied;
    if (this.#partialFilled === partial.length) {
      this.#partial = undefined;
      this.#onMessage(partial, 0, partial.length);
    }
    return position + copied;
  }
}

function messageLength(bytes: Buffer, offset: number): number {
  if (bytes[offset] !== 0) throw new Error('the server sent a compressed message, which was not asked for');
  const length =
    bytes[offset + 1]! * 0x1000000 + ((bytes[offset + 2]! << 16) | (bytes[offset + 3]! << 8) | bytes[offset + 4]!);
  if (length > messageBytesMax) throw new Error(`the server sent a message of ${length} bytes`);
  return length;
}

/** Puts gRPC's five-byte prefix before a message. */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(prefixBytes + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, prefixBytes);
  return framed;
}
