import type { IncomingHttpHeaders } from 'node:http';
import type { Agent, Dispatcher } from 'undici';
import type { RenderedRequest } from '../requests/render-request.ts';

/** This much of an answer is kept. */
const keptBytesMax = 16 * 1024;
/** This much of an answer is read so that its connection can be reused; a connection with more is closed. */
const readBytesMax = 256 * 1024;
/** The number of pieces is limited too: each takes time, even a single byte. */
const piecesMax = 1000;
/** Interim (1xx) answers. Endpoints send one or two, or none. */
const interimMax = 16;

/** What was received until the exchange ended. */
export interface Answer {
  statusCode: number | null;
  retryAfter: string | undefined;
  chunks: Buffer[];
}

/**
 * Sends one request. Settles when the answer is complete or enough of it is read, or at once when the signal aborts.
 */
export function exchange(agent: Agent, request: RenderedRequest, signal: AbortSignal, answer: Answer): Promise<void> {
  const { origin, pathname, search } = new URL(request.url);
  const { headers, body } = request;
  return new Promise<void>((resolve, reject) => {
    const handler = new AnswerReader(answer, resolve, reject);
    signal.addEventListener('abort', () => handler.fail(signal.reason), { once: true });
    agent.dispatch({ origin, path: pathname + search, method: 'POST', headers, body }, handler);
  });
}

/** Only counts what arrives, so that an endless answer takes no time from others. */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #answer: Answer;
  readonly #resolve: () => void;
  readonly #reject: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #interims = 0;
  #pieces = 0;
  #readBytes = 0;

  constructor(answer: Answer, resolve: () => void, reject: (reason: unknown) => void) {
    this.#answer = answer;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  fail(reason: unknown): void {
    this.#end(() => this.#reject(reason));
    this.#controller?.abort(reason as Error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The connection was ready too late.
    if (this.#isOver) controller.abort(new Error('nobody waits for the answer'));
  }

  onResponseStart(_: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) {
      this.#interims += 1;
      if (this.#interims > interimMax) this.fail(Object.assign(new Error(), { code: 'TOO_MANY_INTERIM' }));
      return;
    }
    this.#answer.statusCode = statusCode;
    const retryAfter = headers['retry-after'] as string | string[] | undefined;
    this.#answer.retryAfter = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#readBytes < keptBytesMax) this.#answer.chunks.push(chunk.subarray(0, keptBytesMax - this.#readBytes));
    this.#readBytes += chunk.length;
    this.#pieces += 1;
    if (this.#readBytes <= readBytesMax && this.#pieces <= piecesMax) return;
    this.#end(this.#resolve);
    controller.abort(new Error('enough was read'));
  }

  onResponseEnd(): void {
    this.#end(this.#resolve);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  #end(settle: () => void): void {
    this.#isOver = true;
    settle();
  }
}
