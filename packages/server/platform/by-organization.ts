const organizationsAtOnce = 8;

/**
 * Upkeep that goes through what all organizations have: several organizations at once, each of them one piece of work
 * after the other. Slow storage of one holds up nobody else, and what fails is told and left for the next time.
 */
export async function byOrganization<Item extends { readonly organizationId: string }>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
  onFailure: (error: unknown, item: Item) => void,
): Promise<void> {
  const waiting = [...Map.groupBy(items, ({ organizationId }) => organizationId).values()];
  const lane = async () => {
    for (let own = waiting.shift(); own; own = waiting.shift())
      for (const item of own) {
        if (signal.aborted) return;
        await work(item).catch((error: unknown) => onFailure(error, item));
      }
  };
  await Promise.all(Array.from({ length: organizationsAtOnce }, lane));
}
