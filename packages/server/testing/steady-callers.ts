import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Callers that never pause for long, as behind a proxy: on kept-alive connections, in turns to those addresses of one
 * service that are ready.
 */
export class SteadyCallers {
  readonly #ports: readonly number[];
  readonly #path: string;
  readonly #headers: Record<string, string>;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #callers: Promise<void>[];
  readonly #ready: Set<number>;
  #turn = 0;
  #isOver = false;
  answered = 0;
  /** Failures that a caller should never have seen. */
  readonly faults: string[] = [];

  constructor(ports: readonly number[], path: string, headers: Record<string, string>, callers: number) {
    this.#ports = ports;
    this.#path = path;
    this.#headers = headers;
    this.#ready = new Set(ports);
    this.#callers = Array.from({ length: callers }, () => this.#again(() => this.#call()));
    for (const port of ports) this.#callers.push(this.#again(() => this.#look(port)));
  }

  /** A rolling restart waits for this before it replaces the next process. */
  isReady(port: number): boolean {
    return this.#ready.has(port);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#callers);
    this.#agent.destroy();
  }

  async #again(work: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await work();
      await sleep(Math.random() * 50);
    }
  }

  async #look(port: number): Promise<void> {
    const status = await this.#ask(port, '/health/ready').catch(() => 0);
    if (status === 200) this.#ready.add(port);
    else this.#ready.delete(port);
  }

  async #call(): Promise<void> {
    const turn = this.#turn++;
    const inTurn = this.#ports.map((_, tried) => this.#ports[(turn + tried) % this.#ports.length] as number);
    for (const port of inTurn.filter((port) => this.#ready.has(port))) {
      try {
        const status = await this.#ask(port, this.#path);
        if (status === 200) this.answered++;
        else this.faults.push(`status ${status}`);
        return;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        // Where nobody listens the call goes to the next address. Any other error counts as a failure.
        if (code === 'ECONNREFUSED') continue;
        this.faults.push(`${code}: ${message}`);
        return;
      }
    }
    this.faults.push('nobody is ready');
  }

  async #ask(port: number, path: string): Promise<number | undefined> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request({ port, host: '127.0.0.1', path, headers: this.#headers, agent: this.#agent });
      asked.on('response', resolve).on('error', reject).end();
    });
    await text(answer);
    return answer.statusCode;
  }
}
