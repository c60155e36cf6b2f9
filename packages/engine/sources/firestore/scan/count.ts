/** Counts documents by the database's aggregations, which bill one read per thousand documents. */

import {
  comparePaths,
  everything,
  hasPatterns,
  type PathRange,
  type ReadOptions,
  rangeContains,
  type ScopedReadOptions,
} from '../../../ports/index.ts';
import { minuteMs } from '../../../time/durations.ts';
import type { FirestoreClient } from '../client.ts';
import { mapLimited } from '../map-limited.ts';
import { collectionIdOf, parentOf } from '../names.ts';
import { messages, methods } from '../protos.ts';
import { readFailure } from '../read-failure.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import { discoverGroups, partitionCutsIfOffered } from './discovery.ts';
import { parentName, structuredQuery, timestampMessage } from './query.ts';
import { scanRange } from './scan.ts';
import { type QueryPart, queryPartsOf } from './scope.ts';

const timeoutMs = 2 * minuteMs;
/** The number of pieces when counting the whole group takes the database too long. */
const pieces = 64;
const piecesAtOnce = 4;
const groupsAtOnce = 8;

export async function countRange(
  client: FirestoreClient,
  range: PathRange,
  options: ScopedReadOptions,
): Promise<number> {
  // Aggregations do not support patterns, so names are read and counted.
  if (hasPatterns(options.scope)) return await countByScan(client, range, options);
  try {
    let total = 0;
    for (const part of queryPartsOf(options.scope, range, options.after))
      total += await countPart(client, part, options);
    return total;
  } catch (error) {
    // Names can always be counted, at the cost of reads.
    if (error instanceof GrpcError && isRefusal(error.code)) return countByScan(client, range, options);
    throw await readFailure(client, error, options);
  }
}

/**
 * Whether the database refused to count: it may not count all collections at once, or not in time. Transient errors are
 * retried, and errors about permissions or names fail for every query.
 */
function isRefusal(code: number): boolean {
  return !notRefusals.includes(code);
}

const notRefusals: readonly number[] = [
  grpcCode.UNAVAILABLE,
  grpcCode.ABORTED,
  grpcCode.CANCELLED,
  grpcCode.RESOURCE_EXHAUSTED,
  grpcCode.PERMISSION_DENIED,
  grpcCode.UNAUTHENTICATED,
  grpcCode.NOT_FOUND,
];

async function countByScan(client: FirestoreClient, range: PathRange, options: ScopedReadOptions): Promise<number> {
  let total = 0;
  for await (const batch of scanRange(client, range, { ...options, namesOnly: true })) total += batch.count;
  return total;
}

/** Counts with one query if the database can; otherwise sums the collection groups, in pieces if they are huge. */
async function countPart(client: FirestoreClient, part: QueryPart, options: ScopedReadOptions): Promise<number> {
  try {
    return await countQuery(client, parentName(client, part), structuredQuery(client, part), options, isRefusal);
  } catch (error) {
    if (!(error instanceof GrpcError) || !isRefusal(error.code)) throw error;
    if (part.collection !== null)
      return await countInPieces(client, collectionIdOf(part.collection), part, options, error);
    const groups = new Set([...(options.collectionIds ?? []), ...(await discoverGroups(client, options))]);
    const counts = await mapLimited([...groups], piecesAtOnce, (id) => countGroupIn(client, id, part, options));
    return counts.reduce((sum, each) => sum + each, 0);
  }
}

async function countGroupIn(
  client: FirestoreClient,
  id: string,
  part: QueryPart,
  options: ReadOptions,
): Promise<number> {
  try {
    return await countQuery(client, client.root, groupQuery(client, id, part), options, isRefusal);
  } catch (error) {
    if (!(error instanceof GrpcError) || !isRefusal(error.code)) throw error;
    return await countInPieces(client, id, part, options, error);
  }
}

function groupQuery(client: FirestoreClient, collectionId: string, part: QueryPart): Record<string, unknown> {
  return { ...structuredQuery(client, part), from: [{ collectionId, allDescendants: true }] };
}

/** `refusal` is thrown when the group cannot be cut. */
async function countInPieces(
  client: FirestoreClient,
  groupId: string,
  part: QueryPart,
  options: ReadOptions,
  refusal: GrpcError,
): Promise<number> {
  const parts = await cutApart(client, groupId, part, options);
  if (parts.length === 1) throw refusal;
  const counts = await mapLimited(parts, piecesAtOnce, (piece) => {
    if (part.collection === null)
      return countQuery(client, client.root, groupQuery(client, groupId, piece), options, isRefusal);
    return countQuery(client, parentName(client, piece), structuredQuery(client, piece), options, isRefusal);
  });
  return counts.reduce((sum, each) => sum + each, 0);
}

async function cutApart(
  client: FirestoreClient,
  groupId: string,
  part: QueryPart,
  options: ReadOptions,
): Promise<QueryPart[]> {
  const cuts = await partitionCutsIfOffered(client, groupId, pieces, options);
  const within = { start: part.start?.path ?? null, end: part.end?.path ?? null };
  const isOwn = (path: string): boolean => part.collection === null || parentOf(path) === part.collection;
  const own = cuts.filter((path) => isOwn(path) && rangeContains(within, path) && path !== within.start);
  const chosen = [...new Set(own)].sort(comparePaths);
  const bounds = [part.start, ...chosen.map((path) => ({ path, inclusive: true }))];
  return bounds.map((start, index) => {
    const next = bounds[index + 1];
    return {
      collection: part.collection,
      start,
      end: next === undefined ? part.end : { path: next!.path, inclusive: false },
    };
  });
}

/** Undefined when the database cannot count it in a few queries; then nothing is read. */
export async function countAtOnce(client: FirestoreClient, options: ScopedReadOptions): Promise<number | undefined> {
  const parts = queryPartsOf(options.scope, everything);
  if (hasPatterns(options.scope) || parts.length > piecesAtOnce) return undefined;
  try {
    const counts = parts.map((part) =>
      countQuery(client, parentName(client, part), structuredQuery(client, part), options, isRefusal),
    );
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  } catch (error) {
    if (error instanceof GrpcError && isRefusal(error.code)) return undefined;
    throw error;
  }
}

/** All documents of a collection group, wherever they lie. */
export async function countGroup(client: FirestoreClient, collectionId: string, options: ReadOptions): Promise<number> {
  return countQuery(client, client.root, { from: [{ collectionId, allDescendants: true }] }, options);
}

const isTooLong = (code: number): boolean => code === grpcCode.DEADLINE_EXCEEDED;

/** Whether the named groups hold every document: compares the count of everything with the sum of their counts. */
export async function groupsHoldEverything(
  client: FirestoreClient,
  collectionIds: readonly string[],
  options: ReadOptions,
): Promise<boolean> {
  const query = { from: [{ allDescendants: true }] };
  const all = await countQuery(client, client.root, query, options, isTooLong);
  const counts = await mapLimited(collectionIds, groupsAtOnce, (id) => countGroup(client, id, options));
  return counts.reduce((sum, count) => sum + count, 0) === all;
}

export async function countQuery(
  client: FirestoreClient,
  parent: string,
  query: Record<string, unknown>,
  options: ReadOptions,
  giveUpOn?: (code: number) => boolean,
): Promise<number> {
  const request = messages.runAggregationQueryRequest.encode({
    parent,
    structuredAggregationQuery: { structuredQuery: query, aggregations: [{ alias: 'count', count: {} }] },
    readTime: timestampMessage(options.readTime),
  });
  const limits = { signal: options.signal, timeoutMs: timeoutMs, giveUpOn };
  const answers = await client.collect(methods.runAggregationQuery, client.routing('parent'), request, limits);
  for (const bytes of answers) {
    const answer = messages.runAggregationQueryResponse.decode(bytes) as {
      result?: { aggregateFields?: { count?: { integerValue?: number } } };
    };
    const field = answer.result?.aggregateFields?.count;
    if (field === undefined) continue;
    const count = Number(field.integerValue ?? 0);
    client.usage.documentsRead += Math.max(1, Math.ceil(count / 1000));
    return count;
  }
  throw new GrpcError(grpcCode.INTERNAL, 'the database did not answer with a count');
}
