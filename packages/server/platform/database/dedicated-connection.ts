import pg from 'pg';
import type { Logger } from '../log.ts';

const reconnectMs = 1000;

export interface DedicatedConnectionOptions {
  config: pg.ClientConfig;
  log: Logger;
  /** What the connection is for, as shown in the log. */
  purpose: string;
  /** Runs on every new connection; if it fails, the connection is closed and made again. */
  onConnect(client: pg.Client): Promise<void>;
  onLost?(): void;
}

/**
 * One connection outside the pool, for what belongs to a connection and not to a transaction: subscriptions and session
 * locks. It takes no place in the pool and reconnects by itself.
 */
export class DedicatedConnection {
  readonly #options: DedicatedConnectionOptions;
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: DedicatedConnectionOptions) {
    this.#options = options;
  }

  /** Undefined while there is none. */
  get client(): pg.Client | undefined {
    return this.#client;
  }

  open(): Promise<void> {
    this.#connecting ??= this.#connect();
    return this.#connecting;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#connecting;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) return;
    const client = new pg.Client(this.#options.config);
    let isLost = false;
    const lose = (error: unknown) => {
      if (isLost) return;
      isLost = true;
      this.#lose(client, error);
    };
    client.on('error', lose);
    client.on('end', () => lose(new Error('the database closed the connection')));
    try {
      await client.connect();
      await this.#options.onConnect(client);
      if (!isLost) this.#client = client;
    } catch (error) {
      lose(error);
    }
  }

  #lose(client: pg.Client, error: unknown): void {
    void client.end().catch(() => undefined);
    this.#client = undefined;
    if (this.#isClosed) return;
    const { log, purpose, onLost } = this.#options;
    log.warn({ err: error, purpose }, 'a database connection was lost; connecting again');
    onLost?.();
    this.#timer = setTimeout(() => {
      this.#connecting = this.#connect();
    }, reconnectMs);
  }
}
