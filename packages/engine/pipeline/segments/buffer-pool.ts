import { freeBytes } from '../../memory/free-bytes.ts';

/**
 * A fixed number of equal buffers. Whoever needs one waits until one is free. This bounds the memory of a backup and
 * carries backpressure from the store back to the source.
 */
export class BufferPool {
  readonly bytesEach: number;
  #remaining: number;
  readonly #free: ArrayBuffer[] = [];
  readonly #waiting: ((buffer: ArrayBuffer) => void)[] = [];

  constructor(count: number, bytesEach: number) {
    this.#remaining = count;
    this.bytesEach = bytesEach;
  }

  async acquire(): Promise<ArrayBuffer> {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    if (this.#remaining > 0) {
      this.#remaining -= 1;
      return new ArrayBuffer(this.bytesEach);
    }
    return await new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Frees the memory of unused buffers at once. */
  empty(): void {
    for (const buffer of this.#free.splice(0)) {
      freeBytes(new Uint8Array(buffer));
      this.#remaining += 1;
    }
  }

  release(buffer: ArrayBuffer): void {
    const next = this.#waiting.shift();
    if (next !== undefined) next(buffer);
    else this.#free.push(buffer);
  }
}
