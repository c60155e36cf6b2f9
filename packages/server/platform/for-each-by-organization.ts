import { minuteMs } from './durations.ts';

const organizationsAtOnce = 8;
/**
 * One organization gets at most this much of a run, so that a hanging storage does not delay the next run of all
 * others.
 */
const organizationMsMax = 10 * minuteMs;

/**
 * Maintenance over all organizations: several organizations at once, one item after the other within each. So slow
 * storage of one does not delay others. A failure is logged and left for the next run, and so is what an organization
 * has no time left for. A run starts with a random item, so that a hanging one does not always come first.
 */
export async function forEachByOrganization<Item extends { readonly organizationId: string }>(
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
