import { dayMs } from '../../../platform/durations.ts';
import type { RestoresContext } from '../context.ts';
import { journalStore } from './journal-store.ts';

/** A restore can be undone for this long, if its safety backup is still there. */
const keptDays = 30;
const restoresAtOnce = 100;

export async function expireJournals({ platform: { database, clock } }: RestoresContext): Promise<void> {
  const before = new Date(clock.now().getTime() - keptDays * dayMs);
  await database.system((transaction) => journalStore.expire(transaction, before, restoresAtOnce));
}
