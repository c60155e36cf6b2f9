/**
 * One RunQuery attempt. Documents go from the HTTP/2 frames into record batches without being decoded. A slow reader
 * pauses the stream, and the stream's flow-control window limits what is still in transit.
 */

import { type RecordBatch, recordKind } from '../../../ports/index.ts';
import { endOfVarint, readLength, readTag, skipField } from '../../../ports/wire.ts';
import { minuteMs } from '../../../time/durations.ts';
import type { FirestoreClient } from '../client.ts';
import { type JsonMessage, messages, methods } from '../protos.ts';
import type { GrpcCall } from '../transport/call.ts';
import type { GrpcError } from '../transport/status.ts';
import type { DocumentBatchBuilder } from './document-batch-builder.ts';

const documentTag = 0x0a;
/** Batches that may be ready before the stream is paused. */
const readyMax = 2;
/**
 * Servers end long queries themselves. When a server is silent this long, the query is continued with another request.
 */
const idleTimeoutMs = minuteMs;

export class QueryStream {
  readonly #client: FirestoreClient;
  readonly #builder: DocumentBatchBuilder;
  readonly #ready: RecordBatch[] = [];
  #call: GrpcCall | undefined;
  #wake: (() => void) | undefined;
  #ended = false;
  #error: GrpcError | undefined;
  /** Documents of this attempt. */
  documents = 0;

  constructor(client: FirestoreClient, builder: DocumentBatchBuilder) {
    this.#client = client;
    this.#builder = builder;
  }

  /**
   * Yields full batches; the rest stays in the builder. Throws the call's error after everything that came before it.
   */
  async *batches(request: JsonMessage, signal: AbortSignal | undefined): AsyncGenerator<RecordBatch, void> {
    try {
      await this.#open(request, signal);
      for (;;) {
        const batch = this.#ready.shift();
        if (batch !== undefined) {
          yield batch;
          if (this.#ready.length < readyMax) this.#call?.resume();
        } else if (this.#ended) break;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
      if (this.#error !== undefined) throw this.#error;
    } finally {
      this.#call?.cancel();
      this.#client.usage.bytesReceived += this.#call?.bytesReceived ?? 0;
    }
  }

  async #open(request: JsonMessage, signal: AbortSignal | undefined): Promise<void> {
    const handlers = {
      onMessage: (bytes: Buffer, start: number, end: number) => this.#onMessage(bytes, start, end),
      onChunk: () => {
        if (this.#ready.length >= readyMax) this.#call?.pause();
        if (this.#ready.length > 0) this.#notify();
      },
      onEnd: (error: GrpcError | undefined) => {
        this.#ended = true;
        this.#error = error;
        this.#notify();
      },
    };
    const limits = { idleTimeoutMs: idleTimeoutMs, signal };
    this.#call = await this.#client.channel.open(methods.runQuery, this.#client.routing('parent'), handlers, limits);
    this.#call.send(messages.runQueryRequest.encode(request));
    this.#call.halfClose();
  }

  /** RunQueryResponse: document = 1; everything else in it is of no interest here. */
  #onMessage(bytes: Buffer, start: number, end: number): void {
    let position = start;
    while (position < end) {
      const tag = readTag(bytes, position);
      const contentAt = endOfVarint();
      if (tag !== documentTag) {
        position = skipField(bytes, tag, contentAt, end);
        continue;
      }
      const length = readLength(bytes, contentAt, end);
      const documentStart = endOfVarint();
      const builder = this.#builder;
      if (builder.isFullFor(length)) this.#ready.push(builder.take()!);
      builder.append(recordKind.put, bytes, documentStart, documentStart + length);
      this.documents += 1;
      this.#client.usage.documentsRead += 1;
      return;
    }
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
