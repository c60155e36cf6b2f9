/**
 * One attempt at a query for names over REST, where the whole stream is compressed: names and times of neighbouring
 * documents are similar, and gRPC compresses every message by itself.
 */

import { type RecordBatch, recordKind } from '../../../ports/index.ts';
import type { FirestoreClient } from '../client.ts';
import type { JsonMessage } from '../protos.ts';
import { JsonCall, jsonCallHeaders } from '../transport/json-call.ts';
import { restErrorOf } from '../transport/json-error.ts';
import type { DocumentBatchBuilder } from './document-batch-builder.ts';
import { JsonArrayReader, malformed } from './json-array-reader.ts';
import { type NameAndTimes, NameDocumentEncoder } from './name-document.ts';
import { restRequest } from './rest-request.ts';

export class NameStream {
  readonly #client: FirestoreClient;
  readonly #builder: DocumentBatchBuilder;
  readonly #encoder = new NameDocumentEncoder();
  readonly #ready: RecordBatch[] = [];
  /** Documents of this attempt. */
  documents = 0;
  /** The request was sent, so its result says something about the server. */
  wasSent = false;

  constructor(client: FirestoreClient, builder: DocumentBatchBuilder) {
    this.#client = client;
    this.#builder = builder;
  }

  /**
   * Yields full batches; the rest stays in the builder. Throws the call's error after everything that came before it.
   */
  async *batches(request: JsonMessage, signal: AbortSignal | undefined): AsyncGenerator<RecordBatch, void> {
    const { channel, rest, usage } = this.#client;
    const { path, body } = restRequest(request);
    const stream = await channel.post(path, this.#client.routing('parent'), jsonCallHeaders, signal);
    this.wasSent = true;
    const call = new JsonCall(stream, body, { idleTimeoutMs: rest.idleTimeoutMs, signal });
    const reader = new JsonArrayReader((element) => this.#onElement(element));
    try {
      for await (const piece of call.pieces()) {
        const failure = failureOf(() => reader.push(piece));
        // A piece is far smaller than a batch, so at most one batch is ready here.
        yield* this.#ready.splice(0);
        if (failure !== undefined) throw failure;
      }
      reader.end();
      rest.confirm();
    } finally {
      usage.bytesReceived += call.bytesReceived;
    }
  }

  /** RunQueryResponse as JSON: a document, an error, or something that is not needed. */
  #onElement(element: unknown): void {
    const { document, error } = element as { readonly document?: NameAndTimes; readonly error?: unknown };
    if (error !== undefined) throw restErrorOf(element) ?? malformed('it ends with an error that says nothing');
    if (!document) return;
    const length = this.#encoder.encode(document);
    const builder = this.#builder;
    if (builder.isFullFor(length)) this.#ready.push(builder.take()!);
    builder.append(recordKind.put, this.#encoder.bytes, 0, length);
    this.documents += 1;
    this.#client.usage.documentsRead += 1;
    this.#client.rest.confirm();
  }
}

function failureOf(step: () => void): unknown {
  try {
    step();
  } catch (error) {
    return error;
  }
  return undefined;
}
