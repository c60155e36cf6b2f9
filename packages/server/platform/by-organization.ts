import { minuteMs } from './durations.ts';

const organizationsAtOnce = 8;
/** What one organization may take of a run: whatever its storage hangs on, the next run of all others comes soon. */
const organizationMsMax = 10 * minuteMs;

/**
 * Upkeep that goes through what all organizations have: several organizations at once, each of them one piece of work
 * after the other. Slow storage of one holds up nobody else, and what fails is told and left for the next time. So is what
 * an organization has no time left for; a run begins with any of its work, so that what hangs does not always come first.
 */
export async function byOrganization<Item extends { readonly organizationId: string }>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
  onFailure: (error: unknown, item: Item) => void,
  msMax: number = organizationMsMax,
): Promise<void> {
  const waiting = [...Map.groupBy(items, ({ organizationId }) => organizationId).values()];
  const lane = async () => {
    for (let own = waiting.shift(); own; own = waiting.shift()) {
      const until = AbortSignal.any([signal, AbortSignal.timeout(msMax)]);
      for (const item of inAnyOrder(own)) {
        if (until.aborted) break;
        await work(item, until).catch((error: unknown) => onFailure(error, item));
      }
    }
  };
  await Promise.all(Array.from({ length: organizationsAtOnce }, lane));
}

function inAnyOrder<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((left, right) => left.place - right.place)
    .map(({ item }) => item);
}
