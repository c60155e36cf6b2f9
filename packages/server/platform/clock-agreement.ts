import type { Clock } from './clock.ts';
import type { Database, Transaction } from './database/database.ts';
import { minuteMs, secondMs } from './durations.ts';
import { Problem } from './problem.ts';

/** Synchronized machines differ by less than a second, and storage refuses calls that are further off than this. */
const apartMsMax = 15 * minuteMs;

/** Two clocks differ, and it is unknown which one is right. */
export class ClocksDisagree extends Problem<'INVALID_STATE'> {}

/** How far our clock is ahead of the database's. */
export async function aheadOfDatabaseMs(clock: Clock, { client }: Transaction): Promise<number> {
  const { rows } = await client.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  return aheadOfMs(clock, rows[0]!.ms);
}

/**
 * Call before anything is removed by age: a clock that is wrong by years would remove what has years to live. Throws
 * while our clock and the database's disagree, because it is unknown which one is right.
 */
export async function requireClocksAgree(clock: Clock, database: Database): Promise<void> {
  requireClose(await database.system((transaction) => aheadOfDatabaseMs(clock, transaction)), 'the database');
}

/**
 * The same for a time that was read before. Call it in the transaction that removes because of that time: a clock may
 * jump after the first check.
 */
export async function requireTimeAgrees(now: Date, clock: Clock, transaction: Transaction): Promise<void> {
  const then = clock.worldMs === undefined ? {} : { worldMs: clock.worldMs };
  requireClose(await aheadOfDatabaseMs({ now: () => now, ...then }, transaction), 'the database');
}

/** The same for another source of time, such as a storage: a database on this machine shares our clock. */
export function requireClockAgreesWith(clock: Clock, theirs: Date, whose: string): void {
  requireClose(aheadOfMs(clock, theirs.getTime()), whose);
}

function aheadOfMs(clock: Clock, theirMs: number): number {
  return clock.now().getTime() - (theirMs + (clock.worldMs ?? 0));
}

function requireClose(aheadMs: number, whose: string): void {
  if (Math.abs(aheadMs) <= apartMsMax) return;
  const seconds = Math.round(Math.abs(aheadMs) / secondMs);
  throw new ClocksDisagree(
    'INVALID_STATE',
    `The clock of this server is ${seconds} seconds ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${whose}. Nothing is removed for its age before they agree: set the wrong one.`,
    { details: {} },
  );
}
