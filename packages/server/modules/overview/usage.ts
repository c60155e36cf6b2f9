import type { Transaction } from '../../platform/database/database.ts';
import { dayMs, hourMs, later } from '../../platform/durations.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { organizationTotals, readsBetween, readsByProject } from '../backups/index.ts';
import { activeIdsAfter } from '../organizations/index.ts';
import type { OverviewContext } from './context.ts';
import { type UsageDay, usageStore } from './usage-store.ts';

const shownDays = 30;
const keptDays = 400;
const organizationsAtOnce = 100;

const dayOf = (instant: Date) => instant.toISOString().slice(0, 10);

/** What an organization has stored now, and what the backups of this day have read. */
async function measureDay(transaction: Transaction, organizationId: string, now: Date): Promise<UsageDay> {
  const day = dayOf(now);
  const { storageUsed } = await organizationTotals(transaction, organizationId);
  const readsUsed = await readsBetween(transaction, organizationId, new Date(day), now);
  return { organizationId, day, storedBytes: storageUsed, readsUsed };
}

/** The newest last. A day on which nobody measured is left out, not guessed. */
export async function usageOf(transaction: Transaction, organizationId: string, now: Date): Promise<UsageDay[]> {
  const first = dayOf(later(now, -(shownDays - 1) * dayMs));
  const today = await measureDay(transaction, organizationId, now);
  const days = await usageStore.since(transaction, organizationId, first);
  return [...days.filter(({ day }) => day < today.day), today];
}

/** Who read most in these days, of what is still there to tell. */
export function readersOfDays(transaction: Transaction, organizationId: string, now: Date) {
  return readsByProject(transaction, organizationId, new Date(dayOf(later(now, -(shownDays - 1) * dayMs))));
}

/** Writes down every hour what each organization uses, because backups that are gone tell nothing any more. */
export function usageTask({ platform }: OverviewContext): PeriodicTask {
  const { database, clock } = platform;
  return {
    name: 'usage of the day',
    everyMs: hourMs,
    run: async (signal) => {
      for (let after = ''; !signal.aborted; ) {
        const ids = await database.system((transaction) => activeIdsAfter(transaction, after, organizationsAtOnce));
        for (const id of ids) {
          if (signal.aborted) return;
          await database.tenant(id, async (transaction) =>
            usageStore.record(transaction, await measureDay(transaction, id, clock.now())),
          );
        }
        const last = ids.at(-1);
        if (last === undefined) break;
        after = last;
      }
      await database.system((transaction) =>
        usageStore.removeBefore(transaction, dayOf(later(clock.now(), -keptDays * dayMs))),
      );
    },
  };
}
