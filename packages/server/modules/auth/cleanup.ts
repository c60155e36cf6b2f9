import type { Clock } from '../../platform/clock.ts';
import type { Database, Transaction } from '../../platform/database/database.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { graceMs } from './sessions/refresh-session.ts';
import type { KeptKeyPairs } from './tokens/signing-keys.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const rowsPerStatement = 5000;
/** Longer than the grace, for calls that came in time and waited. */
const successorKeptMs = graceMs + 2 * minuteMs;
const signingKeyMs = 90 * dayMs;

/** Tables whose rows can go once they have expired. Used tokens stay until then, so that a late replay is recognised. */
const sweptTables = ['sign_in_flows', 'one_time_codes', 'refresh_tokens', 'sessions', 'idempotency_keys'] as const;

export interface CleanupOptions {
  database: Database;
  clock: Clock;
  /** Undefined when tokens are signed with a shared secret. */
  keyPairs: KeptKeyPairs | undefined;
}

/** Drill reports are signed with these keys too and are to be checkable for years. */
const publishedMs = 10 * 365 * 24 * 60 * minuteMs;

export function cleanupTasks(options: CleanupOptions): PeriodicTask[] {
  const { keyPairs, clock } = options;
  const sweep = {
    name: 'expired sessions and codes',
    everyMs: 5 * minuteMs,
    run: (signal: AbortSignal) => sweepExpired(options.database, options.clock, signal),
  };
  if (!keyPairs) return [sweep];
  const rotation = {
    name: 'signing key rotation',
    everyMs: 60 * minuteMs,
    run: async () => {
      const nowMs = clock.now().getTime();
      await keyPairs.rotateIfOlderThan(new Date(nowMs - signingKeyMs));
      await keyPairs.removeExpired(new Date(nowMs - publishedMs));
    },
  };
  return [sweep, rotation];
}

export async function sweepExpired(database: Database, clock: Clock, signal: AbortSignal): Promise<void> {
  const now = clock.now();
  await database.system(({ client }) =>
    client.query('update refresh_tokens set successor = null where successor is not null and used_at < $1', [
      new Date(now.getTime() - successorKeptMs),
    ]),
  );
  for (const table of sweptTables) {
    for (let removed = rowsPerStatement; removed === rowsPerStatement; ) {
      signal.throwIfAborted();
      removed = await database.system((transaction) => removeExpired(transaction, table, now));
    }
  }
}

async function removeExpired({ client }: Transaction, table: string, now: Date): Promise<number> {
  const { rowCount } = await client.query(
    `delete from ${table} where ctid = any(array(select ctid from ${table} where expires_at < $1 limit ${rowsPerStatement}))`,
    [now],
  );
  return rowCount ?? 0;
}
