import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { bearerToken, type Call } from './call.ts';
import { encodeStatusMessage } from './framing.ts';
import { MessageStream } from './message-stream.ts';
import { asRpcError, RpcError } from './status.ts';

const contentType = 'application/grpc+proto';

/** One RPC on one HTTP/2 stream. */
export class GrpcCall implements Call {
  readonly method: string;
  readonly token: string;
  readonly #stream: ServerHttp2Stream;
  #messages: MessageStream | null = null;
  #ended = false;
  readonly #closeListeners: (() => void)[] = [];

  constructor(method: string, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.method = method;
    this.#stream = stream;
    this.token = bearerToken(headers.authorization);
    const timeoutMs = parseTimeout(String(headers['grpc-timeout'] ?? ''));
    const deadline = timeoutMs === null ? undefined : setTimeout(() => this.fail(deadlineExceeded()), timeoutMs);
    deadline?.unref();
    stream.once('close', () => {
      clearTimeout(deadline);
      for (const listener of this.#closeListeners) listener();
    });
  }

  get closed(): boolean {
    return this.#ended || this.#stream.destroyed || this.#stream.closed;
  }

  get bytesSent(): number {
    return this.#messages?.bytesSent ?? 0;
  }

  onClose(listener: () => void): void {
    this.#closeListeners.push(listener);
  }

  get out(): MessageStream {
    if (this.#messages === null) {
      if (!this.#stream.headersSent && !this.closed) {
        this.#stream.respond({ ':status': 200, 'content-type': contentType }, { waitForTrailers: true });
      }
      this.#messages = new MessageStream(this.#stream);
    }
    return this.#messages;
  }

  finish(): void {
    this.#end({ 'grpc-status': '0' });
  }

  fail(error: unknown): void {
    const status = asRpcError(error);
    if (this.closed) return;
    if (this.#messages === null) this.#failAtOnce(status);
    else this.#end({ 'grpc-status': String(status.code), 'grpc-message': encodeStatusMessage(status.message) });
  }

  reset(): void {
    this.#ended = true;
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  #failAtOnce(status: RpcError): void {
    this.#ended = true;
    this.#stream.respond(
      {
        ':status': 200,
        'content-type': contentType,
        'grpc-status': String(status.code),
        'grpc-message': encodeStatusMessage(status.message),
      },
      { endStream: true },
    );
    this.#stream.resume();
    this.#closeHalfOpen();
  }

  #end(trailers: Record<string, string>): void {
    if (this.closed) return;
    this.out.flush();
    this.#ended = true;
    this.#stream.once('wantTrailers', () => {
      if (this.#stream.destroyed) return;
      this.#stream.sendTrailers(trailers);
      this.#closeHalfOpen();
    });
    this.#stream.end();
  }

  /** Tells a caller that is still sending to stop; otherwise the stream would stay half open. */
  #closeHalfOpen(): void {
    if (!this.#stream.readableEnded) setImmediate(() => this.#stream.close(constants.NGHTTP2_NO_ERROR));
  }
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };
/** The longest delay of a timer; a later deadline is none for a sandbox. */
const timerMsMax = 2 ** 31 - 1;

/** `grpc-timeout` is up to eight digits and a unit; null when there is none. */
function parseTimeout(text: string): number | null {
  const match = /^([0-9]{1,8})([HMSmun])$/.exec(text);
  const timeoutMs = match === null ? timerMsMax : Number(match[1]) * unitMs[match[2]!]!;
  return timeoutMs < timerMsMax ? timeoutMs : null;
}

function deadlineExceeded(): RpcError {
  return new RpcError('DEADLINE_EXCEEDED', 'Deadline exceeded.');
}
