import { editDistance } from '@holdfast/engine/edit-distance';

/** How many characters may differ for a name to count as a typing mistake. */
const slipsMax = 2;

/** The name that was probably meant; undefined when none is similar. */
export function closestName(given: string, names: readonly string[]): string | undefined {
  const [closest] = names
    .map((name) => ({ name, slips: editDistance(given, name) }))
    .filter(({ slips }) => slips <= slipsMax)
    .sort((left, right) => left.slips - right.slips);
  return closest?.name;
}
