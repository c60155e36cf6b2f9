import { editDistance } from '@holdfast/engine/edit-distance';

/** The candidate that a mistyped word most likely means; undefined when none is similar. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let leastDistance = Math.min(3, Math.ceil(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance >= leastDistance) continue;
    [best, leastDistance] = [candidate, distance];
  }
  return best;
}
