import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { graceMs } from './refresh-session.ts';
import type { KeptKeyPairs } from './signing-keys.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const rowsPerStatement = 5000;
/** Ended sessions are kept a while, so that a look into the database can tell what happened. */
const endedSessionMs = dayMs;
const signingKeyMs = 90 * dayMs;

/** What is over and can go, as `delete from … where`; `$1` is the time before which it was over. */
const sweeps: readonly { table: string; over: string; keptMs: number }[] = [
  { table: 'sign_in_flows', over: 'expires_at < $1', keptMs: 0 },
  { table: 'one_time_codes', over: 'expires_at < $1', keptMs: 0 },
  { table: 'refresh_tokens', over: 'expires_at < $1', keptMs: graceMs },
  { table: 'sessions', over: 'expires_at < $1 or revoked_at < $1', keptMs: endedSessionMs },
  { table: 'idempotency_keys', over: 'expires_at < $1', keptMs: 0 },
];

export interface HouseKeepingOptions {
  database: Database;
  clock: Clock;
  /** Undefined when tokens are signed with a shared secret. */
  keyPairs: KeptKeyPairs | undefined;
  accessLifetimeMs: number;
}

export function houseKeepingTasks(options: HouseKeepingOptions): PeriodicTask[] {
  const { keyPairs, clock } = options;
  const sweep = {
    name: 'auth house-keeping',
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
      await keyPairs.removeExpired(new Date(nowMs - options.accessLifetimeMs));
    },
  };
  return [sweep, rotation];
}

export async function sweepExpired(database: Database, clock: Clock, signal: AbortSignal): Promise<void> {
  const nowMs = clock.now().getTime();
  await database.system(({ client }) =>
    client.query('update refresh_tokens set successor = null where successor is not null and used_at < $1', [
      new Date(nowMs - graceMs),
    ]),
  );
  for (const { table, over, keptMs } of sweeps) {
    const before = new Date(nowMs - keptMs);
    for (let removed = rowsPerStatement; removed === rowsPerStatement; ) {
      signal.throwIfAborted();
      removed = await database.system(async ({ client }) => {
        const { rowCount } = await client.query(
          `delete from ${table} where ctid = any(array(select ctid from ${table} where ${over} limit ${rowsPerStatement}))`,
          [before],
        );
        return rowCount ?? 0;
      });
    }
  }
}
