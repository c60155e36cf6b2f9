/** How many characters may differ for a name to count as a typing mistake. */
const slipsMax = 2;

/** The name that was probably meant; undefined when none is similar. */
export function closestName(given: string, names: readonly string[]): string | undefined {
  const [closest] = names
    .map((name) => ({ name, slips: slipsBetween(given, name) }))
    .filter(({ slips }) => slips <= slipsMax)
    .sort((left, right) => left.slips - right.slips);
  return closest?.name;
}

/** The number of characters to insert, remove or replace until both are equal. */
function slipsBetween(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [lineIndex, letter] of [...left].entries()) {
    const next = [lineIndex + 1];
    for (const [index, other] of [...right].entries())
      next.push(Math.min(row[index]! + (letter === other ? 0 : 1), row[index + 1]! + 1, next[index]! + 1));
    row = next;
  }
  return row[right.length]!;
}
