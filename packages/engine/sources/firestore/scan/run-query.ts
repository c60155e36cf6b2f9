/** Runs one query to its end, in as many attempts and pages as it takes. */

import type { RecordBatch } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import type { DocumentBatchBuilder } from './document-batch-builder.ts';
import { QueryStream } from './query-stream.ts';

export interface PagedQuery {
  /** The request for what comes after a document; undefined asks from the beginning. */
  readonly requestAfter: (name: string | undefined) => Uint8Array;
  /** Documents that a request asks for, and that the client's rate has to allow; undefined when it asks for all. */
  readonly limit: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Yields full batches; what is left stays in the builder. */
export async function* runQuery(
  client: FirestoreClient,
  builder: DocumentBatchBuilder,
  { requestAfter, limit, signal }: PagedQuery,
): AsyncGenerator<RecordBatch, void> {
  const retrier = client.retrier(signal);
  let afterName: string | undefined;
  for (;;) {
    if (limit !== undefined) await client.readRate?.take(limit, signal);
    const stream = new QueryStream(client, builder);
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
    }
    if (failure !== undefined) await retrier.afterFailure(failure);
    else if (limit === undefined || stream.documents < limit) return;
  }
}
