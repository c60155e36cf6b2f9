import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { dayMs, minuteMs } from '../../platform/durations.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { expiringTables, removeExpired } from './expiry-store.ts';
import { graceMs } from './sessions/refresh-session.ts';
import { forgetSuccessors } from './sessions/session-store.ts';
import type { StoredKeyPairs } from './tokens/signing-keys.ts';

const rowsPerStatement = 5000;
/** Longer than the grace period, for calls that arrived in time and had to wait. */
const successorKeptMs = graceMs + 2 * minuteMs;
const signingKeyMs = 90 * dayMs;

export interface CleanupOptions {
  database: Database;
  clock: Clock;
  /** Undefined when tokens are signed with a shared secret. */
  keyPairs: StoredKeyPairs | undefined;
}

/** Drill reports are signed with these keys too, and must be verifiable for years. */
const publishedMs = 10 * 365 * dayMs;

export function cleanupTasks(options: CleanupOptions): PeriodicTask[] {
  const { keyPairs, clock } = options;
  const sweep = {
    name: 'expired sessions and codes',
    everyMs: 5 * minuteMs,
    removesByAge: true,
    run: (signal: AbortSignal) => sweepExpired(options.database, options.clock, signal),
  };
  if (!keyPairs) return [sweep];
  const rotation = {
    name: 'signing key rotation',
    everyMs: 60 * minuteMs,
    removesByAge: true,
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
  const usedBefore = new Date(now.getTime() - successorKeptMs);
  await database.system((transaction) => forgetSuccessors(transaction, usedBefore));
  for (const table of expiringTables) {
    for (let removed = rowsPerStatement; removed === rowsPerStatement; ) {
      signal.throwIfAborted();
      removed = await database.system((transaction) => removeExpired(transaction, table, now, rowsPerStatement));
    }
  }
}
