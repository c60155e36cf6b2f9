import type { Duplex } from 'node:stream';

/** Parsing in one turn of the event loop may take about this long. */
const parsingMsMax = 2;

/**
 * Data from other people's servers may be small to read and slow to parse, such as tens of thousands of chunks of one
 * byte. A dozen connections like that would block everybody else for seconds. When parsing has used its time in one
 * turn of the event loop, the connection is paused, and one paused connection continues in each turn.
 */
export class ReadThrottle {
  readonly #resting: Duplex[] = [];
  #parsedMs = 0;

  /** Applies from now on, for as long as the connection lives. */
  slow(socket: Duplex): void {
    socket.on('data', () => {
      const startedMs = performance.now();
      // By then every listener has had the piece.
      queueMicrotask(() => this.#count(socket, performance.now() - startedMs));
    });
  }

  #count(socket: Duplex, milliseconds: number): void {
    if (this.#parsedMs === 0) setImmediate(() => this.#beginTurn());
    this.#parsedMs += milliseconds;
    // A reader that paused the connection by itself also resumes it by itself.
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
