/** The collections of a database for people to look at and choose from. */

import { everything, type PathRange, type ReadOptions, type Scope } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { mapLimited } from '../map-limited.ts';
import { intersect, subtreeOf } from '../names.ts';
import { readFailure } from '../read-failure.ts';
import { listCollectionIds } from './collections.ts';
import { countQuery, countRange } from './count.ts';
import { collectionIdsOnPath, partitionCutsIfOffered, samplePaths } from './discovery.ts';
import { structuredQuery } from './query.ts';
import { type QueryPart, queryPartsOf } from './scope.ts';

export interface CollectionNode {
  /** Path of a root collection, for example `users`. */
  readonly path: string;
  /** Documents of the collection itself, exact. */
  readonly documentCount: number;
  /** The same and all that lies below its documents, exact. */
  readonly totalCount: number;
  /** Collection ids below its documents. Found by looking below some of them; each count is exact. */
  readonly subcollections: readonly { readonly id: string; readonly documentCount: number }[];
}

const samples = 10;
const collectionsAtOnce = 4;

export async function collectionTree(client: FirestoreClient, options: ReadOptions): Promise<CollectionNode[]> {
  try {
    const roots: string[] = [];
    for await (const path of listCollectionIds(client, '', options)) roots.push(path);
    return await mapLimited(roots, collectionsAtOnce, (path) => describe(client, path, options));
  } catch (error) {
    throw await readFailure(client, error, options);
  }
}

async function describe(client: FirestoreClient, path: string, options: ReadOptions): Promise<CollectionNode> {
  const own: Scope = { collections: [path], includeSubcollections: false, excludeCollections: [] };
  const whole: Scope = { ...own, includeSubcollections: true };
  const [documentCount, totalCount] = await Promise.all([
    countRange(client, everything, { ...options, scope: own }),
    countRange(client, everything, { ...options, scope: whole }),
  ]);
  const [part] = queryPartsOf(whole, everything);
  const ids = totalCount > documentCount ? await idsBelow(client, path, part!, options) : [];
  const subcollections = await Promise.all(
    ids.map(async (id) => ({ id, documentCount: await countGroupWithin(client, id, part!, options) })),
  );
  return { path, documentCount, totalCount, subcollections };
}

async function idsBelow(
  client: FirestoreClient,
  path: string,
  part: QueryPart,
  options: ReadOptions,
): Promise<string[]> {
  const ids = new Set<string>();
  const within: PathRange = subtreeOf(path);
  const cuts = await partitionCutsIfOffered(client, path, samples, options);
  const inside = cuts.filter((cut) => intersect({ start: cut, end: null }, within) !== undefined);
  for (const from of [undefined, ...inside]) {
    const names = await samplePaths(client, part, from === undefined ? options : { ...options, from });
    // The first id on each path is the root collection itself.
    for (const name of names) for (const id of collectionIdsOnPath(name).slice(1)) ids.add(id);
  }
  return [...ids].sort();
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
