import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { secondMs } from '../platform/durations.ts';

/** Of the grace, so long a process that is replaced goes on answering before it closes connections that are idle. */
const lingeringShare = 1 / 4;
const graceMsMin = secondMs;
const lookAgainMs = 100;
const aboutToAskMs = secondMs;
const turnsMax = 1000;

/**
 * The end of a server that hangs up on nobody. From the moment it is told, it is not ready any more and asks with every
 * answer for the connection to be closed; whoever calls steadily is gone from here without a break. Connections that nobody
 * used meanwhile end then, and calls under way may take what is left of the grace.
 */
export class Stopping {
  readonly #told = new AbortController();
  #lingersUntilMs = 0;
  #graceEndsAtMs = 0;

  get signal(): AbortSignal {
    return this.#told.signal;
  }

  /** What is left of the grace. */
  get graceMs(): number {
    return Math.max(graceMsMin, this.#graceEndsAtMs - performance.now());
  }

  begin(graceMs: number, lingers: boolean): void {
    if (this.signal.aborted) return;
    const nowMs = performance.now();
    this.#lingersUntilMs = lingers ? nowMs + graceMs * lingeringShare : nowMs;
    this.#graceEndsAtMs = nowMs + graceMs;
    this.#told.abort(new Error('the service is shutting down'));
  }

  async end(http: FastifyInstance, silent: SilentConnections): Promise<void> {
    await sleep(Math.max(0, this.#lingersUntilMs - performance.now()));
    await silent.untilAllAreAccepted();
    const timer = setTimeout(() => http.server.closeAllConnections(), this.graceMs);
    const looks = setInterval(() => silent.close(), lookAgainMs);
    await new Promise((resolve) => http.server.close(resolve));
    clearTimeout(timer);
    clearInterval(looks);
    await http.close();
  }
}

/** Connections that have not asked for anything yet: Node itself closes those that rest, and waits for these. */
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

  /** Connections that wait to be accepted are cut off with the listener: it ends when a turn of the loop has found none. */
  async untilAllAreAccepted(): Promise<void> {
    for (let turn = 0; turn < turnsMax; turn++) {
      const before = this.#accepted;
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#accepted === before) return;
    }
  }

  /** One that was just opened is about to ask. */
  close(): void {
    const nowMs = performance.now();
    for (const [socket, sinceMs] of this.#sinceMs) if (nowMs - sinceMs > aboutToAskMs) socket.destroy();
  }
}
