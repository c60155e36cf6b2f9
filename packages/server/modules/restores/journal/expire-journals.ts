import { requireTimeAgrees } from '../../../platform/clock-agreement.ts';
import { dayMs, later } from '../../../platform/durations.ts';
import type { RestoresContext } from '../context.ts';
import { journalStore } from './journal-store.ts';

/** A restore can be undone for this long, if its safety backup is still there. */
const keptDays = 30;
const restoresAtOnce = 100;

export async function expireJournals({ platform: { database, clock } }: RestoresContext): Promise<void> {
  const now = clock.now();
  await database.system(async (transaction) => {
    await requireTimeAgrees(now, clock, transaction);
    await journalStore.expire(transaction, later(now, -keptDays * dayMs), restoresAtOnce);
  });
}
