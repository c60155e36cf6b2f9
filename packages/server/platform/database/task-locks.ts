import type pg from 'pg';
import type { Logger } from '../log.ts';
import { DedicatedConnection } from './dedicated-connection.ts';

/**
 * Locks that last as long as a task and not as long as a transaction, so that the task holds no connection of the pool.
 * They belong to one connection: when it is lost, others can take the locks and the task is aborted.
 */
export class TaskLocks {
  readonly #connection: DedicatedConnection;
  readonly #held = new Map<string, AbortController>();

  constructor(config: pg.ClientConfig, log: Logger) {
    this.#connection = new DedicatedConnection({
      // Several tasks ask at once.
      config: { ...config, pipeline: true } as pg.ClientConfig,
      log,
      purpose: 'task locks',
      onConnect: async () => undefined,
      onLost: () => this.#abortAll(),
    });
  }

  /** Runs the work unless this or another process holds the lock of this name. Returns whether it ran. */
  async runAlone(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    await this.#connection.open();
    const { client } = this.#connection;
    if (!client || this.#held.has(name)) return false;
    const lost = new AbortController();
    this.#held.set(name, lost);
    try {
      if (!(await tryLock(client, name))) return false;
      try {
        await work(AbortSignal.any([signal, lost.signal]));
      } finally {
        await unlock(client, name).catch(() => undefined);
      }
      return true;
    } finally {
      this.#held.delete(name);
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #abortAll(): void {
    for (const lost of this.#held.values()) lost.abort(new Error('the connection that held the lock was lost'));
  }
}

const key = `hashtext('holdfast task'), hashtext($1)`;

async function tryLock(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>(`select pg_try_advisory_lock(${key}) as held`, [name]);
  return rows[0]?.held === true;
}

async function unlock(client: pg.Client, name: string): Promise<void> {
  await client.query(`select pg_advisory_unlock(${key})`, [name]);
}
