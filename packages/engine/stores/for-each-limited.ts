const callsInFlight = 16;

/** Runs the work once for each distinct item, several at a time. */
export async function forEachLimited<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  const queue = new Set(items).values();
  const work = async () => {
    for (const item of queue) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(callsInFlight, items.length) }, work));
}
