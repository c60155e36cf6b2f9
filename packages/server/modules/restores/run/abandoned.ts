import { hourMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import type { RestoreRow } from '../restore-store.ts';

/**
 * A lost worker is noticed within seconds. A restore that nobody has worked on for this long was lost with the whole service, or
 * comes from a database of an older day: people have gone on working with what it writes into, and it may have ended since.
 */
const abandonedMs = hourMs;

export function isAbandoned({ status, dryRun, updatedAt }: RestoreRow, now: Date): boolean {
  return status === 'running' && !dryRun && now.getTime() - updatedAt.getTime() > abandonedMs;
}

export function abandoned({ updatedAt }: Pick<RestoreRow, 'updatedAt'>): Problem {
  return new Problem(
    'CANCELLED',
    `Nobody has worked on this restore since ${updatedAt.toISOString()}, so it does not go on by itself: what was changed since would be written over. Resume it if it is still wanted.`,
  );
}
