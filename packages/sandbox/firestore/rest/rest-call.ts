import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { constants, Http2ServerResponse } from 'node:http2';
import { PassThrough, type Transform } from 'node:stream';
import { createGzip, type Gzip, constants as zlib } from 'node:zlib';
import { bearerToken, type Call } from '../transport/call.ts';
import { asRpcError } from '../transport/status.ts';
import { restError } from './errors.ts';
import { JsonOut } from './json-out.ts';

/** What a request and a response have in common in both versions of HTTP. */
export interface RestRequest extends AsyncIterable<Buffer> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  resume(): unknown;
}
export interface RestResponse extends EventEmitter {
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  write(chunk: Buffer, encoding: BufferEncoding, done: () => void): boolean;
  end(): unknown;
  end(text: string): unknown;
  destroy(): unknown;
}

/** One RPC over REST whose answer is a stream: a JSON array, compressed as a whole for those who ask for it. */
export class RestCall implements Call {
  readonly method: string;
  readonly token: string;
  readonly #response: RestResponse;
  readonly #isCompressed: boolean;
  readonly #toJson: (message: Uint8Array) => string;
  #packer: Transform | null = null;
  #out: JsonOut | null = null;
  #ended = false;
  #isGone = false;
  #unsent = 0;
  bytesSent = 0;

  constructor(method: string, request: RestRequest, response: RestResponse, toJson: (message: Uint8Array) => string) {
    this.method = method;
    this.token = bearerToken(request.headers.authorization);
    this.#response = response;
    this.#isCompressed = wantsGzip(request);
    this.#toJson = toJson;
    response.on('error', () => undefined);
    response.once('close', () => {
      this.#isGone = true;
      this.#packer?.destroy();
    });
  }

  get closed(): boolean {
    return this.#ended || this.#isGone;
  }

  get out(): JsonOut {
    if (this.#out === null) {
      const packer = this.#newPacker();
      this.#packer = packer;
      this.#respond(200);
      packer.on('error', () => undefined);
      packer.on('data', (chunk: Buffer) => this.#write(packer, chunk));
      this.#out = new JsonOut(packer, this.#toJson);
    }
    return this.#out;
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener);
  }

  async finish(): Promise<void> {
    if (this.closed) return;
    const { out } = this;
    this.#ended = true;
    const packer = this.#packer!;
    const packed = new Promise<void>((resolve) => packer.once('end', resolve).once('close', resolve));
    out.end();
    await packed;
    this.#response.end();
  }

  async fail(error: unknown): Promise<void> {
    if (this.closed) return;
    const failure = restError(asRpcError(error));
    if (this.#out !== null) {
      this.#out.append(JSON.stringify(failure));
      return await this.finish();
    }
    this.#ended = true;
    this.#respond(failure.error.code);
    const body = this.#newPacker();
    body.on('data', (chunk: Buffer) => this.#write(body, chunk));
    body.once('end', () => this.#response.end());
    // A streaming method reports an error as its only element.
    body.end(JSON.stringify([failure]));
  }

  reset(): void {
    this.#ended = true;
    const packer = this.#packer;
    if (packer !== null && 'flush' in packer) (packer as Gzip).flush(() => this.#resetWhenSent());
    else this.#resetWhenSent();
  }

  #resetWhenSent(): void {
    if (this.#unsent > 0 && !this.#isGone) setImmediate(() => this.#resetWhenSent());
    else if (this.#response instanceof Http2ServerResponse)
      this.#response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else this.#response.destroy();
  }

  #respond(status: number): void {
    this.#response.writeHead(status, {
      'content-type': 'application/json; charset=UTF-8',
      vary: 'origin, x-origin, referer, accept-encoding',
      ...(this.#isCompressed ? { 'content-encoding': 'gzip' } : {}),
    });
  }

  /** The weakest compression: production compresses at least as much. */
  #newPacker(): Transform {
    return this.#isCompressed ? createGzip({ level: zlib.Z_BEST_SPEED }) : new PassThrough();
  }

  #write(packer: Transform, chunk: Buffer): void {
    if (this.#isGone) return;
    this.bytesSent += chunk.length;
    this.#unsent += 1;
    const hasRoom = this.#response.write(chunk, 'utf8', () => {
      this.#unsent -= 1;
    });
    if (hasRoom) return;
    packer.pause();
    this.#response.once('drain', () => packer.resume());
  }
}

/** As with Google: a client must also say in its name that it understands gzip. */
function wantsGzip({ headers }: RestRequest): boolean {
  return /\bgzip\b/.test(String(headers['accept-encoding'] ?? '')) && /gzip/.test(headers['user-agent'] ?? '');
}
