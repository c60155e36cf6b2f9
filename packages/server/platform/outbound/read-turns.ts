import type { Duplex } from 'node:stream';

/** What is read in one turn of the event loop may take about so long to parse. */
const parsingMsMax = 2;

/**
 * What comes from other people's servers may be little to read and much to parse, such as tens of thousands of chunks of a
 * byte: a dozen connections that are never silent would keep everybody else waiting for seconds. When parsing has taken its
 * time in one turn of the event loop, the connection rests, and those that rest go on one in each turn.
 */
export class ReadTurns {
  readonly #resting: Duplex[] = [];
  #parsedMs = 0;

  /** From now on, for as long as the connection lives. */
  slow(socket: Duplex): void {
    socket.on('data', () => {
      const startedMs = performance.now();
      // Then everybody has had the piece.
      queueMicrotask(() => this.#count(socket, performance.now() - startedMs));
    });
  }

  #count(socket: Duplex, milliseconds: number): void {
    if (this.#parsedMs === 0) setImmediate(() => this.#beginTurn());
    this.#parsedMs += milliseconds;
    // Somebody who holds it already has enough, and goes on when they like.
    if (this.#parsedMs < parsingMsMax || socket.destroyed || socket.isPaused()) return;
    socket.pause();
    this.#resting.push(socket);
    if (this.#resting.length === 1) setImmediate(() => this.#goOn());
  }

  #beginTurn(): void {
    this.#parsedMs = 0;
  }

  #goOn(): void {
    this.#resting.shift()?.resume();
    if (this.#resting.length > 0) setImmediate(() => this.#goOn());
  }
}
