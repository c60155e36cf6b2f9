/**
 * Runs one query to its end, in as many attempts and pages as it takes. Names may come over REST, but only gRPC, whose
 * streams end with a status, is trusted about the end. A short response that looks complete would make documents look
 * deleted.
 */

import type { RecordBatch } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import type { JsonMessage } from '../protos.ts';
import type { DocumentBatchBuilder } from './document-batch-builder.ts';
import { NameStream } from './name-stream.ts';
import { QueryStream } from './query-stream.ts';

export interface PagedQuery {
  /** The RunQueryRequest for what comes after a document; undefined asks from the beginning. */
  readonly requestAfter: (name: string | undefined) => JsonMessage;
  /** The number of documents per request, which the client's rate limit must allow; undefined: all. */
  readonly limit: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** The query reads the names of many documents, so that REST is worthwhile. */
  readonly namesOnly?: boolean | undefined;
}

/** Yields full batches; the rest stays in the builder. */
export async function* runQuery(
  client: FirestoreClient,
  builder: DocumentBatchBuilder,
  { requestAfter, limit, signal, namesOnly = false }: PagedQuery,
): AsyncGenerator<RecordBatch, void> {
  const retrier = client.retrier(signal);
  let afterName: string | undefined;
  let fruitlessInARow = 0;
  let isEndToBeConfirmed = false;
  for (;;) {
    if (limit !== undefined) await client.readRate?.take(limit, signal);
    const isRest = namesOnly && !isEndToBeConfirmed && !client.rest.isGivenUp;
    const stream = isRest ? new NameStream(client, builder) : new QueryStream(client, builder);
    let failure: unknown;
    try {
      for await (const batch of stream.batches(requestAfter(afterName), signal)) {
        afterName = client.name(batch.lastPath);
        yield batch;
      }
    } catch (error) {
      failure = error;
    }
    if (stream.documents > 0) {
      if (builder.count > 0) afterName = builder.lastName();
      retrier.progress();
      fruitlessInARow = 0;
      // REST had said that there were no more documents.
      if (isEndToBeConfirmed) client.rest.giveUp();
    }
    if (failure !== undefined) {
      const isFruitless = stream instanceof NameStream && stream.wasSent && stream.documents === 0 && !signal?.aborted;
      if (isFruitless) fruitlessInARow += 1;
      if (!isFruitless || client.rest.mayTryAgain(failure, fruitlessInARow)) await retrier.afterFailure(failure);
    } else if (limit === undefined || stream.documents < limit) {
      if (!isRest) return;
      isEndToBeConfirmed = true;
    }
  }
}
