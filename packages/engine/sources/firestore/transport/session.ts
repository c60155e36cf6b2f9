/** One HTTP/2 connection: opened when needed, checked while in use, given up when it falls silent. */

import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2';
import { GrpcError, grpcCode } from './status.ts';

/** How much one stream may receive while its reader is paused; this limits the memory behind backpressure. */
const streamWindowBytes = 2 * 1024 * 1024;
/** The connection's own window must never be the limit: the windows of the streams are. */
const sessionWindowBytes = 64 * 1024 * 1024;
/** Large frames mean few events per megabyte. */
const frameBytesMax = 1024 * 1024;
const connectTimeoutMs = 10_000;
const keepaliveIntervalMs = 30_000;
const keepaliveTimeoutMs = 15_000;

export class Http2Connection {
  readonly #origin: string;
  #session: ClientHttp2Session | undefined;
  #opening: Promise<ClientHttp2Session> | undefined;
  #keepalive: NodeJS.Timeout | undefined;
  #activeStreams = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  get activeStreams(): number {
    return this.#activeStreams;
  }

  async request(headers: OutgoingHttpHeaders): Promise<ClientHttp2Stream> {
    // Counted from here, so that many calls at once are spread over the connections.
    this.#activeStreams += 1;
    try {
      const session = await this.#open();
      const stream = session.request(headers, { endStream: false });
      stream.once('close', () => {
        this.#activeStreams -= 1;
        if (this.#activeStreams === 0) session.unref();
      });
      session.ref();
      return stream;
    } catch (error) {
      this.#activeStreams -= 1;
      if (error instanceof GrpcError) throw error;
      throw new GrpcError(grpcCode.UNAVAILABLE, 'no connection', { cause: error });
    }
  }

  close(): void {
    this.#session?.destroy();
    this.#forget(this.#session);
  }

  async #open(): Promise<ClientHttp2Session> {
    const session = this.#session;
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  #connect(): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const session = connect(this.#origin, {
        settings: { enablePush: false, initialWindowSize: streamWindowBytes, maxFrameSize: frameBytesMax },
        maxSessionMemory: 256,
      });
      const timeout = setTimeout(() => session.destroy(new Error('connecting took too long')), connectTimeoutMs);
      session.once('connect', () => {
        clearTimeout(timeout);
        session.setLocalWindowSize(sessionWindowBytes);
        this.#session = session;
        this.#keepalive = setInterval(() => this.#probe(session), keepaliveIntervalMs).unref();
        resolve(session);
      });
      session.on('goaway', () => this.#forget(session));
      session.on('error', (error) => reject(new GrpcError(grpcCode.UNAVAILABLE, describe(error), { cause: error })));
      session.once('close', () => {
        clearTimeout(timeout);
        this.#forget(session);
        reject(new GrpcError(grpcCode.UNAVAILABLE, 'the connection closed'));
      });
    });
  }

  /** New calls get a new connection; calls in progress may end on the old one. */
  #forget(session: ClientHttp2Session | undefined): void {
    if (session === undefined || this.#session !== session) return;
    this.#session = undefined;
    clearInterval(this.#keepalive);
  }

  #probe(session: ClientHttp2Session): void {
    if (this.#activeStreams === 0 || session.destroyed) return;
    const silent = setTimeout(() => session.destroy(new Error('the connection fell silent')), keepaliveTimeoutMs);
    session.ping((error) => {
      clearTimeout(silent);
      if (error !== null) session.destroy();
    });
  }
}

function describe(error: Error & { code?: string }): string {
  return error.code === undefined ? error.message : `${error.code} ${error.message}`;
}
