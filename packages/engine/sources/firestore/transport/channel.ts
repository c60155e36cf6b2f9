/** A lean gRPC client: several HTTP/2 connections, credentials on every call, unary and streaming. */

import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { type CallHandlers, type CallLimits, GrpcCall } from './call.ts';
import type { Credentials } from './credentials.ts';
import { frameMessage } from './deframer.ts';
import { Http2Connection } from './session.ts';
import { GrpcError, grpcCode } from './status.ts';

export interface ChannelOptions {
  /** `https://firestore.googleapis.com`, or `http://127.0.0.1:8080` for an emulator. */
  readonly origin: string;
  readonly credentials: Credentials;
  readonly connections?: number;
  /** Sent with every call, for routing and quota. */
  readonly headers?: Readonly<Record<string, string>>;
  /** See CallLimits; for a process that also does other work. */
  readonly turnBytesMax?: number;
}

const connectionsDefault = 4;

export class GrpcChannel {
  readonly #options: ChannelOptions;
  readonly #connections: Http2Connection[];

  constructor(options: ChannelOptions) {
    this.#options = options;
    const count = options.connections ?? connectionsDefault;
    this.#connections = Array.from({ length: count }, () => new Http2Connection(options.origin));
  }

  /** Opens a call; the caller sends its messages and half-closes. `path` is `/package.Service/Method`. */
  async open(path: string, routing: string, handlers: CallHandlers, limits: CallLimits): Promise<GrpcCall> {
    const headers: OutgoingHttpHeaders = { 'content-type': 'application/grpc', te: 'trailers' };
    if (limits.timeoutMs !== undefined) headers['grpc-timeout'] = `${Math.ceil(limits.timeoutMs)}m`;
    const stream = await this.post(path, routing, headers, limits.signal);
    return new GrpcCall(stream, handlers, { turnBytesMax: this.#options.turnBytesMax, ...limits });
  }

  /** Sends any request, with credentials, on the least busy connection. Google answers REST on the same connections. */
  async post(
    path: string,
    routing: string,
    headers: OutgoingHttpHeaders,
    signal: AbortSignal | undefined,
  ): Promise<ClientHttp2Stream> {
    const whole: OutgoingHttpHeaders = {
      ':method': 'POST',
      ':path': path,
      'x-goog-request-params': routing,
      ...headers,
      ...this.#options.headers,
      authorization: await this.#options.credentials.authorization(signal),
    };
    if (signal?.aborted) throw new GrpcError(grpcCode.CANCELLED, 'the caller gave up');
    return await this.#leastBusy().request(whole);
  }

  /** Sends one message and receives one. */
  unary(path: string, routing: string, message: Uint8Array, limits: CallLimits): Promise<Buffer> {
    return this.unaryFramed(path, routing, frameMessage(message), limits);
  }

  /** The same for a message that already has its gRPC prefix; its bytes must not change until the response. */
  unaryFramed(path: string, routing: string, framed: Uint8Array, limits: CallLimits): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      const handlers: CallHandlers = {
        onMessage: (bytes, start, end) => {
          answer = Buffer.from(bytes.subarray(start, end));
        },
        onEnd: (error) => {
          if (error !== undefined) reject(error);
          else if (answer === undefined) reject(new GrpcError(grpcCode.INTERNAL, 'the answer is missing'));
          else resolve(answer);
        },
      };
      this.open(path, routing, handlers, limits).then((call) => {
        call.sendFramed(framed);
        call.halfClose();
      }, reject);
    });
  }

  /** The next call asks for a new token. */
  invalidateCredentials(): void {
    this.#options.credentials.invalidate();
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #leastBusy(): Http2Connection {
    let best = this.#connections[0]!;
    for (const connection of this.#connections) if (connection.activeStreams < best.activeStreams) best = connection;
    return best;
  }
}
