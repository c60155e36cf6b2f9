/** How many documents the database itself counts: aggregations, which bill one read per thousand documents. */

import {
  comparePaths,
  hasPatterns,
  type PathRange,
  type ReadOptions,
  rangeContains,
  type ScopedReadOptions,
} from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { sourceFailure } from '../failures.ts';
import { mapLimited } from '../map-limited.ts';
import { messages, methods } from '../protos.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';
import { discoverGroups, partitionCutsIfOffered } from './discovery.ts';
import { parentName, structuredQuery, timestampMessage } from './query.ts';
import { scanRange } from './scan.ts';
import { type QueryPart, queryPartsOf } from './scope.ts';

const timeoutMs = 120_000;
/** Pieces a count is cut into when the whole takes the database too long. */
const pieces = 16;
const piecesAtOnce = 4;

export async function countRange(
  client: FirestoreClient,
  range: PathRange,
  options: ScopedReadOptions,
): Promise<number> {
  // No aggregation can leave a document's place open, so names are read and counted.
  if (hasPatterns(options.scope)) return await countByScan(client, range, options);
  try {
    let total = 0;
    for (const part of queryPartsOf(options.scope, range, options.after))
      total += await countPart(client, part, options);
    return total;
  } catch (error) {
    // Some emulators do not aggregate over all collections at once: then names are counted, which costs reads.
    if (error instanceof GrpcError && isRefusal(error)) return countByScan(client, range, options);
    throw sourceFailure(error);
  }
}

function isRefusal(error: GrpcError): boolean {
  return error.code === grpcCode.UNIMPLEMENTED || error.code === grpcCode.INVALID_ARGUMENT;
}

async function countByScan(client: FirestoreClient, range: PathRange, options: ScopedReadOptions): Promise<number> {
  let total = 0;
  for await (const batch of scanRange(client, range, { ...options, namesOnly: true })) total += batch.count;
  return total;
}

/** Tens of millions of documents outlast the time the database gives one aggregation: those are counted in pieces. */
async function countPart(client: FirestoreClient, part: QueryPart, options: ReadOptions): Promise<number> {
  const count = (piece: QueryPart, giveUpOn?: number): Promise<number> =>
    countQuery(client, parentName(client, piece), structuredQuery(client, piece), options, giveUpOn);
  try {
    return await count(part, grpcCode.DEADLINE_EXCEEDED);
  } catch (error) {
    if (!(error instanceof GrpcError) || error.code !== grpcCode.DEADLINE_EXCEEDED) throw error;
    const pieces = await cutApart(client, part, options);
    const counts = await mapLimited(pieces, piecesAtOnce, (piece) => count(piece));
    return counts.reduce((sum, each) => sum + each, 0);
  }
}

async function cutApart(client: FirestoreClient, part: QueryPart, options: ReadOptions): Promise<QueryPart[]> {
  const groups = [...(await discoverGroups(client, options))];
  const cuts = (
    await mapLimited(groups, piecesAtOnce, (id) => partitionCutsIfOffered(client, id, pieces, options))
  ).flat();
  const within = { start: part.start?.path ?? null, end: part.end?.path ?? null };
  const isOwn = (path: string): boolean =>
    part.collection === null ||
    (path.startsWith(`${part.collection}/`) && !path.slice(part.collection.length + 1).includes('/'));
  const own = cuts
    .filter((path) => isOwn(path) && rangeContains(within, path) && path !== within.start)
    .sort(comparePaths);
  const step = Math.max(1, Math.floor(own.length / pieces));
  const chosen = [...new Set(own)].filter((_, index) => index % step === 0);
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

/** All documents of a collection group, wherever they lie. */
export async function countGroup(client: FirestoreClient, collectionId: string, options: ReadOptions): Promise<number> {
  return countQuery(client, client.root, { from: [{ collectionId, allDescendants: true }] }, options);
}

export async function countQuery(
  client: FirestoreClient,
  parent: string,
  query: Record<string, unknown>,
  options: ReadOptions,
  giveUpOn?: number,
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
