/** Maps the items in their order, and works on a few of them ahead of the reader. */
export async function* mapAhead<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  underWayMax: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const underWay: Promise<Result>[] = [];
  for await (const item of items) {
    const result = work(item);
    // The error is thrown when its turn comes, or never, if the reader leaves before that.
    result.catch(() => undefined);
    underWay.push(result);
    if (underWay.length >= underWayMax) yield await underWay.shift()!;
  }
  for (const result of underWay) yield await result;
}
