/** Cuts the documents of a scope into ranges of similar size. */

import {
  comparePaths,
  type PathRange,
  type PlanRequest,
  type ReadOptions,
  rangeContains,
} from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { mapLimited } from '../map-limited.ts';
import { positionOf } from '../names.ts';
import { readFailure } from '../read-failure.ts';
import { countAtOnce, countGroup } from './count.ts';
import { discoverGroups, partitionCutsIfOffered, samplePaths } from './discovery.ts';
import { queryPartsOf } from './scope.ts';

/** More cuts are asked for than needed, so that ranges made of several collections can be balanced. */
const cutsPerRange = 4;
const cutsPerGroupMax = 1_000;
const countsAtOnce = 8;
/** Below this many documents a second stream costs more than it brings. */
const documentsPerRangeMin = 2_000;
/** The share of the backup's reads that may be spent to find cuts, and the limit when the backup's size is unknown. */
const namesShareMax = 0.02;
const namesMaxOfUnknown = 20_000;

interface Cut {
  readonly path: string;
  /** The estimated number of documents between the previous cut and this one. */
  readonly weight: number;
}

export async function planRanges(client: FirestoreClient, request: PlanRequest): Promise<PathRange[]> {
  const { scope, targetRanges, previousCuts } = request;
  const parts = queryPartsOf(scope, { start: null, end: null });
  const inScope = (path: string): boolean =>
    parts.some((part) => rangeContains({ start: part.start?.path ?? null, end: part.end?.path ?? null }, path));
  if (targetRanges <= 1) return [{ start: null, end: null }];
  try {
    const usable = (previousCuts ?? []).map(positionOf).filter(inScope);
    const cuts = usable.length > 0 ? usable.map((path) => ({ path, weight: 1 })) : await findCuts(client, request);
    const chosen = chooseCuts(
      cuts.filter(({ path }) => inScope(path)),
      targetRanges,
    );
    return rangesBetween(chosen);
  } catch (error) {
    throw await readFailure(client, error, request);
  }
}

/** The partitions of every group, each weighted by its documents. */
async function findCuts(client: FirestoreClient, request: PlanRequest): Promise<Cut[]> {
  const { scope, readTime } = request;
  const options: ReadOptions = { readTime, ...(request.signal ? { signal: request.signal } : {}) };
  const expected = await countAtOnce(client, { ...options, scope });
  if (expected !== undefined && expected < 2 * documentsPerRangeMin) return [];
  const namesMax = expected === undefined ? namesMaxOfUnknown : Math.ceil(expected * namesShareMax);
  const groups = [...(await discoverGroups(client, { ...options, namesMax }))];
  if (groups.length > namesMax) return await cutsAmong(client, groups, request.targetRanges, options);
  const counts = await mapLimited(groups, countsAtOnce, (id) => countGroup(client, id, options));
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total < 2 * documentsPerRangeMin) return [];
  const cuts = await mapLimited([...groups.entries()], countsAtOnce, async ([index, id]): Promise<Cut[]> => {
    const count = counts[index]!;
    const wanted = Math.min(cutsPerGroupMax, Math.floor((count / total) * request.targetRanges * cutsPerRange));
    // A group that is too small to be cut belongs to one range, which may end where it begins.
    const paths =
      wanted < 1 ? await firstOf(client, id, options) : await partitionCutsIfOffered(client, id, wanted, options);
    const parts = wanted < 1 ? 1 : paths.length + 1;
    return paths.map((path) => ({ path, weight: count / parts }));
  });
  return cuts.flat();
}

/** The first document of a root collection; none when the collection exists only below other documents. */
function firstOf(client: FirestoreClient, collection: string, options: ReadOptions): Promise<string[]> {
  return samplePaths(client, { collection, start: null, end: null }, { ...options, limit: 1 });
}

/** When counting many small collections would cost more than it helps, they count as equal. */
async function cutsAmong(
  client: FirestoreClient,
  collectionIds: readonly string[],
  targetRanges: number,
  options: ReadOptions,
): Promise<Cut[]> {
  const sorted = [...collectionIds].sort(comparePaths);
  const every = Math.max(1, Math.floor(sorted.length / (targetRanges * cutsPerRange)));
  const chosen = sorted.filter((_, index) => index % every === 0);
  const firsts = await mapLimited(chosen, countsAtOnce, (id) => firstOf(client, id, options));
  return firsts.flat().map((path) => ({ path, weight: 1 }));
}

/** Walks the cuts in order and takes one whenever the weight of a range is reached. */
function chooseCuts(cuts: readonly Cut[], targetRanges: number): string[] {
  const sorted = [...cuts].sort((left, right) => comparePaths(left.path, right.path));
  const total = sorted.reduce((sum, cut) => sum + cut.weight, 0);
  // The part after the last cut weighs about as much as the average part.
  const share = (total + (sorted.length > 0 ? total / sorted.length : 0)) / targetRanges;
  const chosen: string[] = [];
  let gathered = 0;
  for (const { path, weight } of sorted) {
    gathered += weight;
    if (gathered < share * (chosen.length + 1) - share / 1000 || chosen.length >= targetRanges - 1) continue;
    if (chosen.at(-1) !== path) chosen.push(path);
  }
  return chosen;
}

function rangesBetween(cuts: readonly string[]): PathRange[] {
  const bounds = [null, ...cuts, null];
  return bounds.slice(1).map((end, index) => ({ start: bounds[index]!, end }));
}
