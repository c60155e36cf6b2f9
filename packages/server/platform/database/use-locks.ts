import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { secondMs } from '../durations.ts';
import type { Logger } from '../log.ts';
import { Problem } from '../problem.ts';
import { DedicatedConnection } from './dedicated-connection.ts';
import type { TransactionClient } from './transaction-client.ts';

const retryMs = 25;
const waitMsMax = 10 * secondMs;

/**
 * Marks something as in use, for all processes, while it is read and without a transaction. Any number of readers may
 * use a thing at once; before a removal, ask `isUnused`. The uses of a dead process end with its connection.
 */
export class UseLocks {
  readonly #connection: DedicatedConnection;
  readonly #held = new Set<readonly string[]>();

  constructor(config: pg.ClientConfig, log: Logger) {
    this.#connection = new DedicatedConnection({
      config: { ...config, pipeline: true } as pg.ClientConfig,
      log,
      purpose: 'use locks',
      onConnect: (client) => this.#holdAgain(client),
    });
  }

  /** Marks these as in use; the result releases them. Waits while somebody is about to remove one of them. */
  async hold(names: readonly string[]): Promise<() => Promise<void>> {
    await this.#connection.open();
    for (const deadlineMs = performance.now() + waitMsMax; ; await sleep(retryMs)) {
      const { client } = this.#connection;
      if (client && (await tryHold(client, names))) break;
      if (performance.now() > deadlineMs)
        throw new Problem('CONFLICT', 'Something is being removed that is to be read; try again in a moment.');
    }
    const held = [...names];
    this.#held.add(held);
    return async () => {
      if (!this.#held.delete(held)) return;
      const { client } = this.#connection;
      if (client) await release(client, held).catch(() => undefined);
    };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /**
   * A new connection has lost the locks of the former one. Somebody may be asking at this moment whether one of these
   * is unused, which blocks its lock for a short time. So failed locks are tried again for as long as they are needed.
   */
  async #holdAgain(client: pg.Client): Promise<void> {
    for (const names of [...this.#held]) {
      if (!(await tryHold(client, names))) void this.#keepTrying(client, names);
    }
  }

  async #keepTrying(client: pg.Client, names: readonly string[]): Promise<void> {
    try {
      do {
        await sleep(retryMs);
        if (!this.#held.has(names)) return;
      } while (!(await tryHold(client, names)));
      if (!this.#held.has(names)) await release(client, names);
    } catch {
      // The connection was lost again: the next one locks them.
    }
  }
}

/** The transaction that is about to remove something. */
interface Locking {
  readonly client: TransactionClient;
}

/** The names that are in use. Until the transaction ends, nobody can begin to use one of the others. */
export async function usedAmong({ client }: Locking, names: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) as name
      where not pg_try_advisory_xact_lock(hashtext('holdfast use'), hashtext(name))`,
    [names],
  );
  return rows.map(({ name }) => name);
}

/** The same for any number of names, at this moment only: others may begin to use one right after. */
export async function usedNow({ client }: Locking, names: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) as name
      where hashtext(name)::oid in (
        select objid from pg_locks
         where locktype = 'advisory' and mode = 'ShareLock' and granted and classid = hashtext('holdfast use')::oid
           and database = (select oid from pg_database where datname = current_database()))`,
    [names],
  );
  return rows.map(({ name }) => name);
}

/** Whether nobody uses it; if so, nobody can begin to before the transaction ends. */
export async function isUnused(transaction: Locking, name: string): Promise<boolean> {
  return (await usedAmong(transaction, [name])).length === 0;
}

/** All of them or none. */
async function tryHold(client: pg.Client, names: readonly string[]): Promise<boolean> {
  const { rows } = await client.query<{ name: string; held: boolean }>(
    `select name, pg_try_advisory_lock_shared(hashtext('holdfast use'), hashtext(name)) as held
       from unnest($1::text[]) as name`,
    [names],
  );
  const held = rows.filter((row) => row.held).map(({ name }) => name);
  if (held.length === rows.length) return true;
  await release(client, held);
  return false;
}

async function release(client: pg.Client, names: readonly string[]): Promise<void> {
  await client.query(
    `select pg_advisory_unlock_shared(hashtext('holdfast use'), hashtext(name)) from unnest($1::text[]) as name`,
    [names],
  );
}
