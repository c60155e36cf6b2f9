/** Reads ranges at one instant, across broken streams, without repetitions and gaps. */

import {
  hasPatterns,
  type PathRange,
  pathOfName,
  type RecordBatch,
  type ScanOptions,
  type Scope,
  scopeContains,
} from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import { readFailure } from '../read-failure.ts';
import { throwIfAborted } from '../retry.ts';
import { DocumentBatchBuilder, nameOfDocument } from './document-batch-builder.ts';
import { parentName, structuredQuery, timestampMessage } from './query.ts';
import { forEachRecord } from './records.ts';
import { runQuery } from './run-query.ts';
import { type QueryPart, queryPartsOf } from './scope.ts';

export async function* scanRange(
  client: FirestoreClient,
  range: PathRange,
  options: ScanOptions,
): AsyncGenerator<RecordBatch, void> {
  throwIfAborted(options.signal);
  const builder = new DocumentBatchBuilder();
  try {
    for (const part of queryPartsOf(options.scope, range, options.after))
      yield* inScope(scanPart(client, part, options, builder), options.scope);
    const rest = builder.take();
    if (rest !== undefined) yield* inScope([rest], options.scope);
  } catch (error) {
    throw await readFailure(client, error, options);
  }
}

/** For a scope with patterns more is read than needed; the rest is dropped here. */
async function* inScope(
  batches: AsyncIterable<RecordBatch> | Iterable<RecordBatch>,
  scope: Scope,
): AsyncGenerator<RecordBatch, void> {
  if (!hasPatterns(scope)) return yield* batches;
  for await (const batch of batches) {
    const kept = new DocumentBatchBuilder(batch.bytes.length);
    forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
      const path = pathOfName(nameOfDocument(bytes, bodyStart, end));
      if (scopeContains(scope, path)) kept.append(kind, bytes, bodyStart, end);
    });
    batch.release?.();
    const rest = kept.take();
    if (rest !== undefined) yield rest;
  }
}

function scanPart(
  client: FirestoreClient,
  part: QueryPart,
  options: ScanOptions,
  builder: DocumentBatchBuilder,
): AsyncGenerator<RecordBatch, void> {
  const { readRate } = client;
  // With a rate limit the query is split into pages of one second: documents that are not requested are not billed.
  const limit = readRate === undefined ? undefined : Math.max(1, Math.ceil(readRate.perSecond));
  const { namesOnly, signal } = options;
  const requestAfter = (afterName: string | undefined) => ({
    parent: parentName(client, part),
    structuredQuery: structuredQuery(client, part, { limit, afterName, namesOnly }),
    readTime: timestampMessage(options.readTime),
  });
  return runQuery(client, builder, { requestAfter, limit, signal, namesOnly });
}
