import type pg from 'pg';
import type { Logger } from '../log.ts';
import { DedicatedConnection } from './dedicated-connection.ts';

type Listener = (payload: string) => void;

/**
 * PostgreSQL's notifications, on one connection for the whole process. They can be lost with the connection, so every
 * listener is called with '' after each (re)connection and reads the state itself now and then.
 */
export class Notices {
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #connection: DedicatedConnection;

  constructor(config: pg.ClientConfig, log: Logger) {
    this.#connection = new DedicatedConnection({
      // Several callers subscribe, or wait to be ready, at once.
      config: { ...config, pipeline: true } as pg.ClientConfig,
      log,
      purpose: 'notices',
      onConnect: (client) => this.#listenOn(client),
    });
  }

  /** Returns how to stop. The first subscription opens the connection. */
  subscribe(channel: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    const isNew = listeners.size === 0;
    listeners.add(listener);
    this.#listeners.set(channel, listeners);
    const { client } = this.#connection;
    if (client && isNew) void client.query(`listen ${client.escapeIdentifier(channel)}`).catch(() => undefined);
    else void this.#connection.open();
    return () => listeners.delete(listener);
  }

  /** After this has resolved, no notification on a subscribed channel is missed. */
  async ready(): Promise<void> {
    await this.#connection.open();
    await this.#connection.client?.query('select 1');
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #listenOn(client: pg.Client): Promise<void> {
    client.on('notification', ({ channel, payload }) => this.#tell(channel, payload ?? ''));
    const channels = [...this.#listeners.keys()];
    await client.query(channels.map((channel) => `listen ${client.escapeIdentifier(channel)}`).join(';'));
    for (const channel of channels) this.#tell(channel, '');
  }

  #tell(channel: string, payload: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(payload);
  }
}
