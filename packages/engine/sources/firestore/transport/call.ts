/** One gRPC call on one HTTP/2 stream: messages in, messages out, exactly one status at the end. */

import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { Deframer, frameMessage, type MessageHandler } from './deframer.ts';
import { codeOfHttpStatus, GrpcError, grpcCode } from './status.ts';

export interface CallHandlers {
  readonly onMessage: MessageHandler;
  /** Called once, after the last message; undefined means OK. */
  readonly onEnd: (error: GrpcError | undefined) => void;
  /** Called after each chunk's messages, the moment to decide about pausing. */
  readonly onChunk?: () => void;
}

export interface CallLimits {
  /** The whole call; sent to the server too. */
  readonly timeoutMs?: number;
  /** The call is given up when the server sends nothing for this long while we are reading. */
  readonly idleTimeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** How many bytes the call may receive before other work in the process gets its turn. */
  readonly turnBytesMax?: number | undefined;
}

export class GrpcCall {
  readonly #stream: ClientHttp2Stream;
  readonly #handlers: CallHandlers;
  readonly #deframer: Deframer;
  readonly #limits: CallLimits;
  readonly #turnBytesMax: number;
  #deadline: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #ended = false;
  #paused = false;
  #resting = false;
  #bytesThisTurn = 0;
  #httpStatus = 200;
  #trailers: IncomingHttpHeaders | undefined;
  readonly #onAbort = () => this.#finish(new GrpcError(grpcCode.CANCELLED, 'the caller gave up'));

  bytesReceived = 0;

  constructor(stream: ClientHttp2Stream, handlers: CallHandlers, limits: CallLimits) {
    this.#stream = stream;
    this.#handlers = handlers;
    this.#limits = limits;
    this.#turnBytesMax = limits.turnBytesMax ?? Number.POSITIVE_INFINITY;
    this.#deframer = new Deframer(handlers.onMessage);
    stream.on('response', (headers) => this.#onHeaders(headers));
    stream.on('trailers', (headers) => {
      this.#trailers = headers;
    });
    stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    stream.on('end', () => this.#onStreamEnd());
    stream.on('error', (error) => this.#finish(new GrpcError(grpcCode.UNAVAILABLE, error.message, { cause: error })));
    stream.on('close', () => {
      if (!this.#ended) this.#finish(new GrpcError(grpcCode.UNAVAILABLE, 'the stream broke off'));
    });
    this.#arm();
  }

  /** False when the caller should wait for `drained` before it sends more. */
  send(message: Uint8Array): boolean {
    return this.#stream.write(frameMessage(message));
  }

  /** Sends a message that already has its gRPC prefix. */
  sendFramed(framed: Uint8Array): boolean {
    return this.#stream.write(framed);
  }

  halfClose(): void {
    this.#stream.end();
  }

  pause(): void {
    if (this.#paused || this.#ended) return;
    this.#paused = true;
    this.#stream.pause();
    clearTimeout(this.#idle);
  }

  resume(): void {
    if (!this.#paused || this.#ended) return;
    this.#paused = false;
    this.#touch();
    if (!this.#resting) this.#stream.resume();
  }

  /** Ends the call without an answer; onEnd gets CANCELLED. */
  cancel(): void {
    this.#onAbort();
  }

  #arm(): void {
    const { timeoutMs, signal } = this.#limits;
    if (timeoutMs !== undefined) {
      const late = () => this.#finish(new GrpcError(grpcCode.DEADLINE_EXCEEDED, `no end after ${timeoutMs} ms`));
      this.#deadline = setTimeout(late, timeoutMs);
    }
    this.#touch();
    if (signal?.aborted) queueMicrotask(this.#onAbort);
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  #touch(): void {
    const { idleTimeoutMs } = this.#limits;
    if (idleTimeoutMs === undefined || this.#paused) return;
    if (this.#idle !== undefined) {
      this.#idle.refresh();
      return;
    }
    const silent = () => {
      if (!this.#paused) this.#finish(new GrpcError(grpcCode.DEADLINE_EXCEEDED, `silent for ${idleTimeoutMs} ms`));
    };
    this.#idle = setTimeout(silent, idleTimeoutMs);
  }

  #onHeaders(headers: IncomingHttpHeaders & { ':status'?: number | undefined }): void {
    this.#httpStatus = headers[':status'] ?? 200;
    // A response without messages has its status here and no trailers.
    if (headers['grpc-status'] !== undefined) this.#trailers = headers;
  }

  #onData(chunk: Buffer): void {
    if (this.#ended || this.#httpStatus !== 200) return;
    this.bytesReceived += chunk.length;
    this.#bytesThisTurn += chunk.length;
    if (this.#bytesThisTurn >= this.#turnBytesMax && !this.#resting) this.#rest();
    this.#touch();
    try {
      this.#deframer.push(chunk);
    } catch (error) {
      this.#finish(asGrpcError(error));
      return;
    }
    this.#handlers.onChunk?.();
  }

  /** Lets other work in the process have its turn; a fast server could block it for megabytes. */
  #rest(): void {
    this.#resting = true;
    this.#stream.pause();
    setImmediate(() => {
      this.#resting = false;
      this.#bytesThisTurn = 0;
      if (!this.#paused) this.#stream.resume();
    });
  }

  #onStreamEnd(): void {
    // Trailers are known by now; a stream that was reset ends here without them.
    this.#finish(this.#statusError());
  }

  #statusError(): GrpcError | undefined {
    const trailers = this.#trailers;
    if (trailers === undefined || trailers['grpc-status'] === undefined) {
      if (this.#httpStatus !== 200)
        return new GrpcError(codeOfHttpStatus(this.#httpStatus), `HTTP ${this.#httpStatus}`);
      return new GrpcError(grpcCode.UNAVAILABLE, 'the stream ended without a status');
    }
    const code = Number(trailers['grpc-status']);
    if (code !== grpcCode.OK) return new GrpcError(code, decodeMessage(trailers['grpc-message']));
    return this.#deframer.isAtBoundary ? undefined : new GrpcError(grpcCode.INTERNAL, 'the last message was cut');
  }

  #finish(error: GrpcError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#idle);
    this.#limits.signal?.removeEventListener('abort', this.#onAbort);
    if (!this.#stream.closed) {
      // NGHTTP2_CANCEL tells the server that nobody needs the response any more.
      if (error !== undefined) this.#stream.close(8);
      this.#stream.resume();
    }
    this.#handlers.onEnd(error);
  }
}

/** Errors in framing are the server's; handlers may throw a GrpcError to end the call. */
function asGrpcError(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  return new GrpcError(grpcCode.INTERNAL, error instanceof Error ? error.message : String(error), { cause: error });
}

function decodeMessage(text: string | string[] | undefined): string {
  const message = Array.isArray(text) ? text.join(', ') : (text ?? '');
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
