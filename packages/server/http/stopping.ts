import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { secondMs } from '../platform/durations.ts';

/** A replaced process keeps answering for this share of the grace period before it closes idle connections. */
const lingeringShare = 1 / 4;
const graceMsMin = secondMs;
const recheckMs = 100;
const aboutToAskMs = secondMs;
const turnsMax = 1000;

/**
 * Stops a server without hanging up on clients. From the start of the stop it is not ready and asks with every answer
 * to close the connection, so steady callers move away without a break. After a while idle connections are closed, and
 * running calls may take the rest of the grace period.
 */
export class Stopping {
  readonly #stop = new AbortController();
  #lingersUntilMs = 0;
  #graceEndsAtMs = 0;

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The rest of the grace period. */
  get graceMs(): number {
    return Math.max(graceMsMin, this.#graceEndsAtMs - performance.now());
  }

  begin(graceMs: number, lingers: boolean): void {
    if (this.signal.aborted) return;
    const nowMs = performance.now();
    this.#lingersUntilMs = lingers ? nowMs + graceMs * lingeringShare : nowMs;
    this.#graceEndsAtMs = nowMs + graceMs;
    this.#stop.abort(new Error('the service is shutting down'));
  }

  async end(http: FastifyInstance, silent: SilentConnections): Promise<void> {
    await sleep(Math.max(0, this.#lingersUntilMs - performance.now()));
    await silent.untilAllAreAccepted();
    const timer = setTimeout(() => http.server.closeAllConnections(), this.graceMs);
    const looks = setInterval(() => silent.close(), recheckMs);
    await new Promise((resolve) => http.server.close(resolve));
    clearTimeout(timer);
    clearInterval(looks);
    await http.close();
  }
}

/** Connections without a request so far: Node closes idle connections itself, but would wait for these. */
export class SilentConnections {
  readonly #sinceMs = new Map<Socket, number>();
  #accepted = 0;

  constructor({ server }: FastifyInstance) {
    server.on('connection', (socket: Socket) => {
      this.#accepted += 1;
      this.#sinceMs.set(socket, performance.now());
      socket.once('close', () => this.#sinceMs.delete(socket));
    });
    server.on('request', ({ socket }) => this.#sinceMs.delete(socket));
  }

  /**
   * Connections that wait to be accepted are cut off with the listener, so this waits until a turn of the loop has
   * accepted none.
   */
  async untilAllAreAccepted(): Promise<void> {
    for (let turn = 0; turn < turnsMax; turn++) {
      const before = this.#accepted;
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#accepted === before) return;
    }
  }

  /** A connection that was just opened is about to send a request. */
  close(): void {
    const nowMs = performance.now();
    for (const [socket, sinceMs] of this.#sinceMs) if (nowMs - sinceMs > aboutToAskMs) socket.destroy();
  }
}
