import type { Transaction } from '../../platform/database/database.ts';
import { dayMs, hourMs, later } from '../../platform/durations.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { organizationTotals, readsBetween, readsByProject, storageUsage } from '../backups/index.ts';
import { activeIdsAfter } from '../organizations/index.ts';
import { storageStore } from '../storage/index.ts';
import type { OverviewContext } from './context.ts';
import type { StoredInDestination } from './tables.ts';
import { type UsageDay, usageStore } from './usage-store.ts';

const shownDays = 30;
const keptDays = 400;
const organizationsAtOnce = 100;
const destinationsMax = 10;

const dayOf = (instant: Date) => instant.toISOString().slice(0, 10);

/** What an organization has stored now, and what this day's backups have read. */
async function measureDay(transaction: Transaction, organizationId: string, now: Date): Promise<UsageDay> {
  const day = dayOf(now);
  const { storageUsed } = await organizationTotals(transaction, organizationId);
  const readsUsed = await readsBetween(transaction, organizationId, new Date(day), now);
  const storedByDestination = await measureDestinations(transaction, organizationId);
  return { organizationId, day, storedBytes: storageUsed, storedByDestination, readsUsed };
}

/** Several records of one place see the same objects: the record with the most bytes counts for the place. */
async function measureDestinations(transaction: Transaction, organizationId: string): Promise<StoredInDestination[]> {
  const destinations = await storageStore.all(transaction, organizationId);
  const ids = destinations.map(({ id }) => id);
  const usage = await storageUsage(transaction, organizationId, ids);
  const greatestFirst = ids
    .map((id) => ({ storageDestinationId: id, storedBytes: usage.get(id)?.bytes ?? 0 }))
    .filter(({ storedBytes }) => storedBytes > 0)
    .sort((a, b) => b.storedBytes - a.storedBytes);
  const placeOf = new Map(destinations.map(({ id, placeId }) => [id, placeId ?? id]));
  const places = Map.groupBy(greatestFirst, ({ storageDestinationId }) => placeOf.get(storageDestinationId));
  return [...places.values()].flatMap(([known]) => known ?? []).slice(0, destinationsMax);
}

/** The newest last. A day without a measurement is left out, not guessed. */
export async function usageOf(transaction: Transaction, organizationId: string, now: Date): Promise<UsageDay[]> {
  const first = dayOf(later(now, -(shownDays - 1) * dayMs));
  const today = await measureDay(transaction, organizationId, now);
  const days = await usageStore.since(transaction, organizationId, first);
  return [...days.filter(({ day }) => day < today.day), today];
}

/** Who read most in these days, as far as records still exist. */
export function readersOfDays(transaction: Transaction, organizationId: string, now: Date) {
  return readsByProject(transaction, organizationId, new Date(dayOf(later(now, -(shownDays - 1) * dayMs))));
}

/** Saves every hour what each organization uses, because removed backups can no longer be counted. */
export function usageTask({ platform }: OverviewContext): PeriodicTask {
  const { database, clock } = platform;
  return {
    name: 'usage of the day',
    everyMs: hourMs,
    removesByAge: true,
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
