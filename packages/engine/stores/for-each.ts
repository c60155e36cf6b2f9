const callsInFlight = 16;

/** Each of many keys once, several at a time. */
export async function forEach<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  const queue = new Set(items).values();
  const work = async () => {
    for (const item of queue) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(callsInFlight, items.length) }, work));
}
