import type { Writable } from 'node:stream';
import type { MessageOut } from '../transport/call.ts';

const chunkUnits = 64 * 1024;
const inFlightBytesMax = 1024 * 1024;

/** A JSON array of the messages of one answer. At most a megabyte is unread at a time; `ready` waits for the reader. */
export class JsonOut implements MessageOut {
  readonly #sink: Writable;
  readonly #toJson: (message: Uint8Array) => string;
  #text = '[';
  #isFirst = true;
  #inFlightBytes = 0;
  #waiting: (() => void)[] = [];
  chunksSent = 0;

  constructor(sink: Writable, toJson: (message: Uint8Array) => string) {
    this.#sink = sink;
    this.#toJson = toJson;
    sink.once('close', () => this.#wake());
  }

  get pendingBytes(): number {
    return this.#text.length;
  }

  get congested(): boolean {
    return this.#inFlightBytes >= inFlightBytesMax && !this.#sink.destroyed;
  }

  appendField(tag: number, source: Buffer, start: number, end: number, tail: Uint8Array): void {
    const length: number[] = [];
    for (let rest = end - start; ; rest >>>= 7) {
      length.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
      if (rest < 0x80) break;
    }
    this.send(Buffer.concat([Uint8Array.of(tag, ...length), source.subarray(start, end), tail]));
  }

  send(message: Uint8Array): void {
    this.append(this.#toJson(message));
  }

  append(element: string): void {
    this.#text += this.#isFirst ? element : `,\n${element}`;
    this.#isFirst = false;
    if (this.#text.length >= chunkUnits) this.flush();
  }

  flush(): void {
    if (this.#text === '' || this.#sink.destroyed) return;
    const chunk = Buffer.from(this.#text);
    this.#text = '';
    this.chunksSent += 1;
    this.#inFlightBytes += chunk.length;
    this.#sink.write(chunk, () => {
      this.#inFlightBytes -= chunk.length;
      if (!this.congested) this.#wake();
    });
  }

  /** Closes the array; nothing may follow. */
  end(): void {
    this.#text += ']';
    this.flush();
    this.#sink.end();
  }

  async ready(): Promise<void> {
    while (this.congested) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
