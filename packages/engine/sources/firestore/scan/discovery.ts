/** Finds collection ids and cut points without reading the database: by partitions, counts and a few names. */

import { comparePaths, pathOfName, type ReadOptions } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { mapLimited } from '../map-limited.ts';
import { messages, methods } from '../protos.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import { listCollectionIds } from './collections.ts';
import { DocumentBatchBuilder } from './document-batch-builder.ts';
import { parentName, structuredQuery, timestampMessage } from './query.ts';
import { QueryStream } from './query-stream.ts';
import { eachPath } from './records.ts';
import type { QueryPart } from './scope.ts';

const partitionPageSize = 300;
/** Names read per position; each is one billed read. */
const namesPerSample = 30;
const samplesPerGroup = 8;
const groupsMax = 2_000;
const groupsAtOnce = 8;

/** `users/ada/orders/7` passes through the collections `users` and `orders`. */
export function collectionIdsOnPath(path: string): string[] {
  return path.split('/').filter((_, index) => index % 2 === 0);
}

/** Documents that cut a collection group into about `count` equal parts, ascending. */
async function partitionCuts(
  client: FirestoreClient,
  collectionId: string,
  count: number,
  options: ReadOptions,
): Promise<string[]> {
  const cuts: string[] = [];
  let pageToken = '';
  do {
    const request = messages.partitionQueryRequest.encode({
      parent: client.root,
      structuredQuery: {
        from: [{ collectionId, allDescendants: true }],
        orderBy: [{ field: { fieldPath: '__name__' }, direction: 'ASCENDING' }],
      },
      partitionCount: count,
      pageSize: partitionPageSize,
      pageToken,
      readTime: timestampMessage(options.readTime),
    });
    const bytes = await client.unary(methods.partitionQuery, client.routing('parent'), request, options.signal);
    const page = messages.partitionQueryResponse.decode(bytes) as {
      partitions?: { values?: { referenceValue?: string }[] }[];
      nextPageToken?: string;
    };
    for (const { values } of page.partitions ?? []) cuts.push(pathOfName(values?.[0]?.referenceValue ?? ''));
    pageToken = page.nextPageToken ?? '';
  } while (pageToken !== '');
  return cuts.filter((path) => path !== '').sort(comparePaths);
}

/** The first names of a query, optionally from a position on. */
export async function samplePaths(
  client: FirestoreClient,
  part: QueryPart,
  options: ReadOptions & { readonly limit?: number; readonly from?: string },
): Promise<string[]> {
  const start = options.from === undefined ? part.start : { path: options.from, inclusive: true };
  const limit = options.limit ?? namesPerSample;
  const request = {
    parent: parentName(client, part),
    structuredQuery: structuredQuery(client, { ...part, start }, { namesOnly: true, limit }),
    readTime: timestampMessage(options.readTime),
  };
  const retrier = client.retrier(options.signal);
  for (;;) {
    const builder = new DocumentBatchBuilder();
    const paths: string[] = [];
    try {
      for await (const batch of new QueryStream(client, builder).batches(request, options.signal)) {
        paths.push(...eachPath(batch));
      }
      const rest = builder.take();
      if (rest !== undefined) paths.push(...eachPath(rest));
      return paths;
    } catch (error) {
      await retrier.afterFailure(error);
    }
  }
}

export interface DiscoveryOptions extends ReadOptions {
  /** The search ends after about this many names. Each is one billed read. */
  readonly namesMax?: number;
}

/**
 * Collection ids in use, found in the root collections and below sampled documents. Complete for root collections; an
 * id that occurs below few documents may be missed.
 */
export async function discoverGroups(client: FirestoreClient, options: DiscoveryOptions): Promise<Set<string>> {
  const namesMax = options.namesMax ?? Number.POSITIVE_INFINITY;
  const readBefore = client.usage.documentsRead;
  const groups = new Set<string>();
  let open: string[] = [];
  const add = (id: string): void => {
    if (groups.has(id) || groups.size >= groupsMax) return;
    groups.add(id);
    open.push(id);
  };
  for await (const id of listCollectionIds(client, '', options)) add(id);
  for (const id of await sampleIds(client, root, options)) add(id);
  while (open.length > 0) {
    const round = open;
    open = [];
    const found = await mapLimited(round, groupsAtOnce, (id) =>
      client.usage.documentsRead - readBefore < namesMax ? idsAround(client, id, options) : Promise.resolve([]),
    );
    for (const id of found.flat()) add(id);
  }
  return groups;
}

const root: QueryPart = { collection: null, start: null, end: null };

/** Ids on the first paths of a query, or on those from a position on. */
export async function sampleIds(
  client: FirestoreClient,
  part: QueryPart,
  options: ReadOptions & { readonly from?: string },
): Promise<string[]> {
  return [...new Set((await samplePaths(client, part, options)).flatMap(collectionIdsOnPath))];
}

async function idsAround(client: FirestoreClient, id: string, options: ReadOptions): Promise<string[]> {
  const ids: string[] = [];
  for (const from of await samplePositions(client, id, options)) {
    ids.push(...(await sampleIds(client, root, { ...options, from })));
  }
  return ids;
}

/** Positions spread over a group: its first document as a root collection, and partition cuts. */
async function samplePositions(client: FirestoreClient, id: string, options: ReadOptions): Promise<string[]> {
  const cuts = await partitionCutsIfOffered(client, id, samplesPerGroup, options);
  const [first] = await samplePaths(client, { collection: id, start: null, end: null }, { ...options, limit: 1 });
  return first === undefined ? cuts : [first, ...cuts];
}

/** An emulator may not support partitions; then there are no cuts, which is slower but correct. */
export async function partitionCutsIfOffered(
  client: FirestoreClient,
  collectionId: string,
  count: number,
  options: ReadOptions,
): Promise<string[]> {
  try {
    return await partitionCuts(client, collectionId, count, options);
  } catch (error) {
    if (error instanceof GrpcError && error.code === grpcCode.UNIMPLEMENTED) return [];
    throw error;
  }
}
