/** Which collections exist, and how many documents the database itself counts in them. */

import type { PathRange, ReadOptions, ScopedReadOptions } from '../../ports/index.ts';
import type { FirestoreClient } from './client.ts';
import { sourceFailure } from './failures.ts';
import { messages, methods } from './protos.ts';
import { parentName, structuredQuery, timestampMessage } from './query.ts';
import { scanRange } from './scan.ts';
import { type QueryPart, queryPartsOf } from './scope.ts';
import { GrpcError, grpcCode } from './transport/status.ts';

const PAGE_SIZE = 300;
const COUNT_TIMEOUT_MS = 120_000;

export async function* listCollectionIds(
  client: FirestoreClient,
  parentPath: string,
  options: ReadOptions,
): AsyncGenerator<string, void> {
  let pageToken = '';
  do {
    const request = messages.listCollectionIdsRequest.encode({
      parent: client.name(parentPath),
      pageSize: PAGE_SIZE,
      pageToken,
      readTime: timestampMessage(options.readTime),
    });
    const page = await client
      .unary(methods.listCollectionIds, client.routing('parent'), request, options.signal)
      .then((bytes) => messages.listCollectionIdsResponse.decode(bytes))
      .catch((error: unknown) => {
        throw sourceFailure(error);
      });
    yield* (page.collectionIds as string[] | undefined) ?? [];
    pageToken = (page.nextPageToken as string | undefined) ?? '';
  } while (pageToken !== '');
}

/** The database's own count of a range: an aggregation that bills one read per thousand documents. */
export async function countRange(
  client: FirestoreClient,
  range: PathRange,
  options: ScopedReadOptions,
): Promise<number> {
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

async function countPart(client: FirestoreClient, part: QueryPart, options: ReadOptions): Promise<number> {
  const query = structuredQuery(client, part);
  return countQuery(client, parentName(client, part), query, options);
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
): Promise<number> {
  const request = messages.runAggregationQueryRequest.encode({
    parent,
    structuredAggregationQuery: { structuredQuery: query, aggregations: [{ alias: 'count', count: {} }] },
    readTime: timestampMessage(options.readTime),
  });
  const { signal } = options;
  const answers = await client.collect(
    methods.runAggregationQuery,
    client.routing('parent'),
    request,
    signal,
    COUNT_TIMEOUT_MS,
  );
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
