/** The collections of a database, for people to view and choose from. */

import { collectionShape } from '../../../format/collection-counter.ts';
import { everything, type PathRange, type ReadOptions, type Scope, wholeDatabase } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { mapLimited } from '../map-limited.ts';
import { intersect, subtreeOf } from '../names.ts';
import { readFailure } from '../read-failure.ts';
import { listCollectionIds } from './collections.ts';
import { countAtOnce, countQuery, countRange } from './count.ts';
import { partitionCutsIfOffered, samplePaths } from './discovery.ts';
import { structuredQuery } from './query.ts';
import { eachPath } from './records.ts';
import { scanRange } from './scan.ts';
import { type QueryPart, queryPartsOf } from './scope.ts';

/** One collection, or all with one name below the documents of another one, such as the orders of all customers. */
export interface CollectionCount {
  readonly path: string;
  readonly documentCount: number;
  /** True when only some documents were sampled: counts are estimates, and a rare collection may be missing. */
  readonly isSampled: boolean;
}

const samples = 10;
const collectionsAtOnce = 12;
/**
 * At most this many root collections are counted one by one. With more, the rest of the total is divided among the
 * others.
 */
const rootsCountedMax = 2000;
/** Up to this many names are read, one read each, if counting alone cannot distinguish two collections. */
const namesMax = 20_000;

export interface TreeOptions extends ReadOptions {
  /** Only what lies in and below these; absent, everything. */
  readonly roots?: readonly string[] | undefined;
}

/** Every level, with a collection before those below it. */
export async function collectionTree(client: FirestoreClient, options: TreeOptions): Promise<CollectionCount[]> {
  try {
    const all = options.roots ?? (await rootsOf(client, options));
    const paths = all.slice(0, rootsCountedMax);
    const uncounted = all.slice(rootsCountedMax);
    const roots = await mapLimited(paths, collectionsAtOnce, async (path) => ({
      path,
      documentCount: await countRange(client, everything, { ...options, scope: ownOf(path) }),
      isSampled: false,
    }));
    if (uncounted.length === 0 && (await isFlat(client, roots, options))) return roots;
    const trees = await mapLimited(roots, collectionsAtOnce, (root) => treeBelow(client, root, options));
    const counted = trees.flat();
    return uncounted.length === 0 ? counted : [...counted, ...(await shares(client, uncounted, counted, options))];
  } catch (error) {
    throw await readFailure(client, error, options);
  }
}

/** Divides the total without the counted collections into equal parts: the sum is exact, each part is a guess. */
async function shares(
  client: FirestoreClient,
  paths: readonly string[],
  counted: readonly CollectionCount[],
  { roots, ...options }: TreeOptions,
): Promise<CollectionCount[]> {
  const scope: Scope = { ...wholeDatabase, ...(roots && { collections: roots }) };
  const total = (await countAtOnce(client, { ...options, scope })) ?? 0;
  const left = Math.max(0, total - sumOf(counted));
  const each = Math.floor(left / paths.length);
  const more = left % paths.length;
  return paths.map((path, index) => ({ path, documentCount: index < more ? each + 1 : each, isSampled: true }));
}

const sumOf = (counts: readonly CollectionCount[]) => counts.reduce((sum, { documentCount }) => sum + documentCount, 0);

async function rootsOf(client: FirestoreClient, options: ReadOptions): Promise<string[]> {
  const roots: string[] = [];
  for await (const path of listCollectionIds(client, '', options)) roots.push(path);
  return roots;
}

/** Only what lies in the collection itself. */
function ownOf(path: string): Scope {
  return { collections: [path], includeSubcollections: false, excludeCollections: [] };
}

/** Whether the root collections hold everything; then thousands of them need not be searched for subcollections. */
async function isFlat(
  client: FirestoreClient,
  roots: readonly CollectionCount[],
  { roots: asked, ...options }: TreeOptions,
): Promise<boolean> {
  if (asked !== undefined) return false;
  return (await countAtOnce(client, { ...options, scope: wholeDatabase })) === sumOf(roots);
}

/**
 * Aggregations count a collection name anywhere below the root, so they are exact only if the name occurs in one place.
 * Their sum shows whether the sampled names are complete.
 */
async function treeBelow(
  client: FirestoreClient,
  root: CollectionCount,
  options: ReadOptions,
): Promise<CollectionCount[]> {
  const { path, documentCount } = root;
  const whole: Scope = { ...ownOf(path), includeSubcollections: true };
  const totalCount = await countRange(client, everything, { ...options, scope: whole });
  if (totalCount === documentCount) return [root];
  const part = queryPartsOf(whole, everything)[0] as QueryPart;
  const sampled = await sampleShapes(client, path, part, options);
  const counted = await countShapes(client, sampled, part, root, options);
  const isWhole = counted.reduce((sum, shape) => sum + shape.documentCount, documentCount) === totalCount;
  if (isWhole && counted.every(({ isSampled }) => !isSampled)) return [root, ...counted];
  if (totalCount <= namesMax) return await readShapes(client, whole, root, options);
  return [{ ...root, isSampled: true }, ...counted];
}

/** How often each shape occurs among some names. */
async function sampleShapes(
  client: FirestoreClient,
  path: string,
  part: QueryPart,
  options: ReadOptions,
): Promise<Map<string, number>> {
  const shapes = new Map<string, number>();
  const within: PathRange = subtreeOf(path);
  const cuts = await partitionCutsIfOffered(client, path, samples, options);
  const inside = cuts.filter((cut) => intersect({ start: cut, end: null }, within) !== undefined);
  for (const from of [undefined, ...inside]) {
    const names = await samplePaths(client, part, from === undefined ? options : { ...options, from });
    for (const name of names) {
      const shape = collectionShape(name);
      if (shape !== path) shapes.set(shape, (shapes.get(shape) ?? 0) + 1);
    }
  }
  return shapes;
}

async function countShapes(
  client: FirestoreClient,
  sampled: ReadonlyMap<string, number>,
  part: QueryPart,
  root: CollectionCount,
  options: ReadOptions,
): Promise<CollectionCount[]> {
  const byId = Map.groupBy(sampled.keys(), (shape) => shape.slice(shape.lastIndexOf('/') + 1));
  const groups = await mapLimited([...byId], collectionsAtOnce, async ([id, shapes]) => {
    const within = await countGroupWithin(client, id, part, options);
    const documentCount = within - (id === root.path ? root.documentCount : 0);
    if (shapes.length === 1) return [{ path: shapes[0] as string, documentCount, isSampled: false }];
    const seen = shapes.reduce((sum, shape) => sum + (sampled.get(shape) ?? 0), 0);
    return shapes.map((path) => ({
      path,
      documentCount: Math.round((documentCount * (sampled.get(path) ?? 0)) / seen),
      isSampled: true,
    }));
  });
  return groups.flat().toSorted((left, right) => (left.path < right.path ? -1 : 1));
}

/** Counts by reading the names of all documents below the root collection. */
async function readShapes(
  client: FirestoreClient,
  scope: Scope,
  root: CollectionCount,
  options: ReadOptions,
): Promise<CollectionCount[]> {
  const counts = new Map<string, number>([[root.path, 0]]);
  for await (const batch of scanRange(client, everything, { ...options, scope, namesOnly: true }))
    for (const path of eachPath(batch)) {
      const shape = collectionShape(path);
      counts.set(shape, (counts.get(shape) ?? 0) + 1);
    }
  const shapes = [...counts].map(([path, documentCount]) => ({ path, documentCount, isSampled: false }));
  return shapes.toSorted((left, right) => (left.path < right.path ? -1 : 1));
}

function countGroupWithin(
  client: FirestoreClient,
  collectionId: string,
  part: QueryPart,
  options: ReadOptions,
): Promise<number> {
  const query = { ...structuredQuery(client, part), from: [{ collectionId, allDescendants: true }] };
  return countQuery(client, client.root, query, options);
}
