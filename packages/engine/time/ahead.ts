/** What `work` makes of each item, in the order of the items, a few being worked on ahead of the reader. */
export async function* ahead<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  underWayMax: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const underWay: Promise<Result>[] = [];
  for await (const item of items) {
    const result = work(item);
    // It is told when its turn comes; a reader that leaves before is not told at all.
    result.catch(() => undefined);
    underWay.push(result);
    if (underWay.length >= underWayMax) yield await underWay.shift()!;
  }
  for (const result of underWay) yield await result;
}
