import type { Duplex } from 'node:stream';

/**
 * What comes from other people's servers is read piece by piece, one piece of one connection in each turn of the event loop.
 * A piece is little to read and may be much to parse, such as tens of thousands of chunks of a byte: a dozen connections
 * that are never silent would keep everybody else waiting for seconds.
 */
export class ReadTurns {
  readonly #waiting: Duplex[] = [];

  /** From now on, for as long as the connection lives. */
  slow(socket: Duplex): void {
    socket.on('data', () => queueMicrotask(() => this.#hold(socket)));
  }

  /** Somebody who holds it already has enough, and goes on when they like. */
  #hold(socket: Duplex): void {
    if (socket.destroyed || socket.isPaused()) return;
    socket.pause();
    this.#waiting.push(socket);
    if (this.#waiting.length === 1) setImmediate(() => this.#goOn());
  }

  #goOn(): void {
    this.#waiting.shift()?.resume();
    if (this.#waiting.length > 0) setImmediate(() => this.#goOn());
  }
}
