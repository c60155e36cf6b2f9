/** One call of Google's REST interface whose response is a stream of JSON, compressed as a whole. */

import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { createGunzip } from 'node:zlib';
import { type RestError, restErrorOf } from './json-error.ts';
import { codeOfHttpStatus, GrpcError, grpcCode } from './status.ts';

/** Google compresses only for clients whose name contains this word. */
export const jsonCallHeaders = {
  'content-type': 'application/json',
  accept: 'application/json',
  'accept-encoding': 'gzip',
  'user-agent': 'holdfast (gzip)',
};

/** The most bytes unpacked at a time. It limits what highly compressed data can do, and how long others wait. */
const unpackedBytesMax = 64 * 1024;
const errorBytesMax = 64 * 1024;

export interface JsonCallLimits {
  /** The call is given up when the server sends nothing for this long while we are reading. */
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

type Body = ClientHttp2Stream | ReturnType<typeof createGunzip>;

export class JsonCall {
  readonly #stream: ClientHttp2Stream;
  readonly #limits: JsonCallLimits;
  readonly #head = Promise.withResolvers<IncomingHttpHeaders & { ':status'?: number | undefined }>();
  #body: Body;
  #failure: GrpcError | undefined;
  #silence: NodeJS.Timeout | undefined;

  /** On the wire, as they came. */
  bytesReceived = 0;

  constructor(stream: ClientHttp2Stream, request: string, limits: JsonCallLimits) {
    this.#stream = stream;
    this.#body = stream;
    this.#limits = limits;
    this.#head.promise.catch(() => undefined);
    stream.on('response', (headers) => this.#head.resolve(headers));
    stream.on('error', (error) => this.#break(new GrpcError(grpcCode.UNAVAILABLE, error.message, { cause: error })));
    stream.on('close', () => {
      if (!stream.readableEnded) this.#break(new GrpcError(grpcCode.UNAVAILABLE, 'the stream broke off'));
    });
    limits.signal?.addEventListener('abort', this.#onAbort, { once: true });
    stream.end(request);
  }

  /**
   * The unpacked response. Reads ahead only one piece, and what the stream's window holds. Throws on errors and
   * interruptions; whether the JSON is complete is checked by the reader.
   */
  async *pieces(): AsyncGenerator<Buffer, void> {
    try {
      if (this.#limits.signal?.aborted) this.#onAbort();
      const headers = await this.#soon(this.#head.promise);
      const isPacked = headers['content-encoding'] === 'gzip';
      const pieces = this.#unpack(isPacked)[Symbol.asyncIterator]();
      const status = headers[':status'] ?? 200;
      if (status !== 200) throw await this.#refusal(status, pieces);
      if (!isPacked || !headers['content-type']?.startsWith('application/json'))
        throw new GrpcError(grpcCode.UNIMPLEMENTED, 'the server does not answer with compressed JSON');
      for (;;) {
        const { done, value } = await this.#soon(pieces.next());
        if (!done) yield value;
        else if (this.#failure !== undefined) throw this.#failure;
        else return;
      }
    } finally {
      this.#close();
    }
  }

  #close(): void {
    this.#limits.signal?.removeEventListener('abort', this.#onAbort);
    if (!this.#stream.readableEnded) {
      // Tells the server that nobody needs the response any more.
      this.#stream.close(constants.NGHTTP2_CANCEL);
      this.#stream.resume();
    }
    if (this.#body !== this.#stream) this.#body.destroy();
  }

  #unpack(isPacked: boolean): AsyncIterable<Buffer> {
    this.#stream.on('data', (chunk: Buffer) => {
      this.bytesReceived += chunk.length;
      this.#silence?.refresh();
    });
    if (!isPacked) return this.#stream;
    const gunzip = createGunzip({ chunkSize: unpackedBytesMax }).on('error', () => undefined);
    this.#body = gunzip;
    return this.#stream.pipe(gunzip);
  }

  /** Waits for the server, but not longer than it may be silent. Silence only counts while we wait. */
  async #soon<Value>(promise: Promise<Value>): Promise<Value> {
    const { idleTimeoutMs } = this.#limits;
    this.#silence = setTimeout(
      () => this.#fail(new GrpcError(grpcCode.DEADLINE_EXCEEDED, `silent for ${idleTimeoutMs} ms`)),
      idleTimeoutMs,
    );
    try {
      return await promise;
    } catch (error) {
      throw this.#failure ?? new GrpcError(grpcCode.UNAVAILABLE, `the answer is damaged (${error})`, { cause: error });
    } finally {
      clearTimeout(this.#silence);
      this.#silence = undefined;
    }
  }

  async #refusal(status: number, pieces: AsyncIterator<Buffer>): Promise<GrpcError> {
    let text = '';
    for (let next = await this.#soon(pieces.next()); !next.done; next = await this.#soon(pieces.next())) {
      text += next.value.toString('utf8');
      if (text.length > errorBytesMax) break;
    }
    return errorIn(text) ?? new GrpcError(codeOfHttpStatus(status), `HTTP ${status}`);
  }

  readonly #onAbort = () => this.#fail(new GrpcError(grpcCode.CANCELLED, 'the caller gave up'));

  #fail(failure: GrpcError): void {
    this.#failure ??= failure;
    this.#head.reject(failure);
    this.#body.destroy(failure);
  }

  /** What was received is still unpacked: otherwise a stream that breaks again and again would make no progress. */
  #break(failure: GrpcError): void {
    this.#failure ??= failure;
    this.#head.reject(failure);
    if (this.#body !== this.#stream) this.#body.end();
  }
}

function errorIn(text: string): RestError | undefined {
  try {
    return restErrorOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}
