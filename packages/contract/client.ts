import { errorFrom, HoldfastError } from './client/error.ts';
import type { AnyInput } from './client/request.ts';
import { headersOf, newIdempotencyKey, urlOf } from './client/request.ts';
import type { RetryOptions } from './client/retry.ts';
import { defaultRetry, delayBefore, isRetried, wait } from './client/retry.ts';
import { HoldfastStream } from './client/streams.ts';
import type { Client, Page } from './client/types.ts';
import { minuteMs } from './durations.ts';
import type { Operation } from './operation.ts';
import { allOperations, operations } from './operations/index.ts';

export type { ClientErrorCode } from './client/error.ts';
export { HoldfastError } from './client/error.ts';
export type { CallInput, CallOptions } from './client/input.ts';
export type { RetryOptions } from './client/retry.ts';
export { HoldfastStream } from './client/streams.ts';
export type { Answer, Client, Page, Result } from './client/types.ts';
export { PathSegmentError } from './path.ts';

export interface ClientOptions {
  /** Where the service is, without `/api/v1`. */
  readonly baseUrl: string;
  /** An access token or an API key. Absent: the browser's session cookie. */
  readonly token?: string;
  /** Called before every call. `refused` means that the service rejected the last token: refresh it, or give up. */
  readonly getToken?: (why: { refused: boolean }) => Promise<string | undefined> | string | undefined;
  /** The organization of all calls, unless a call names another one. */
  readonly organizationId?: string;
  readonly fetch?: typeof globalThis.fetch;
  readonly retry?: Partial<RetryOptions>;
  /** Until the answer begins; a stream may last as long as it likes. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = minuteMs;

interface RawAnswer {
  result: unknown;
  status: number;
  headers: Headers;
}

/** The typed client of the whole API: one method per operation, named by its id. */
export function createClient(options: ClientOptions): Client {
  const caller = new Caller(options);
  const calls = allOperations.map((operation) => [
    operation.id,
    async (input: AnyInput = {}) => (await caller.call(operation, input)).result,
  ]);
  const byId = (id: string): Operation => operations[id as keyof typeof operations];
  return {
    ...Object.fromEntries(calls),
    request: (id: string, input: AnyInput) => caller.call(byId(id), input),
    pages: (id: string, input: AnyInput) => caller.pages(byId(id), input),
    paginate: (id: string, input: AnyInput) => caller.items(byId(id), input),
  } as Client;
}

class Caller {
  readonly #options: ClientOptions;
  readonly #retry: RetryOptions;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#retry = { ...defaultRetry, ...options.retry };
    this.#fetch = options.fetch ?? globalThis.fetch;
  }

  async call(operation: Operation, given: AnyInput): Promise<RawAnswer> {
    const input = this.#complete(operation, given);
    const response = await this.#send(operation, input);
    const { status, headers } = response;
    const expected = [operation.success, ...(operation.alternatives ?? [])].map((success) => success.status);
    if (!expected.includes(status)) throw await errorFrom(response);
    return { result: await unwrap(operation, response), status, headers };
  }

  async *pages(operation: Operation, input: AnyInput): AsyncGenerator<Page<unknown>> {
    let cursor = input.query?.cursor;
    do {
      const { result } = await this.call(operation, { ...input, query: { ...input.query, cursor } });
      const page = result as Page<unknown>;
      yield page;
      cursor = page.pagination.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  async *items(operation: Operation, input: AnyInput): AsyncGenerator<unknown> {
    for await (const page of this.pages(operation, input)) yield* page.data as unknown[];
  }

  #complete(operation: Operation, input: AnyInput): AnyInput {
    const organizationId = input.organizationId ?? this.#options.organizationId;
    const wantsKey = operation.idempotencyKey && !operation.secretAnswer;
    const idempotencyKey = input.idempotencyKey ?? (wantsKey ? newIdempotencyKey() : undefined);
    return { ...input, organizationId, idempotencyKey };
  }

  /** Only calls that are safe to repeat are repeated: reads, and calls with an idempotency key. */
  async #send(operation: Operation, input: AnyInput): Promise<Response> {
    const isSafe = operation.method === 'GET' || input.idempotencyKey !== undefined;
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#authorize(operation, input);
      if (!isSafe || !isRetried(response.status) || isGoodAnswer(operation, response.status)) return response;
      const delayMs = delayBefore(attempt, response.headers.get('retry-after'), this.#retry);
      if (delayMs === undefined) return response;
      await response.body?.cancel();
      await wait(delayMs, input.signal);
    }
  }

  /** A public call never requests a token: refreshing one is itself such a call. */
  async #authorize(operation: Operation, input: AnyInput): Promise<Response> {
    const { getToken, token: fixed } = this.#options;
    if (operation.access.kind === 'public' || !getToken) return this.#fetchOnce(operation, input, fixed);
    const token = await getToken({ refused: false });
    const response = await this.#fetchOnce(operation, input, token);
    if (response.status !== 401) return response;
    const next = await getToken({ refused: true });
    if (!next || next === token) return response;
    await response.body?.cancel();
    return this.#fetchOnce(operation, input, next);
  }

  async #fetchOnce(operation: Operation, input: AnyInput, token: string | undefined): Promise<Response> {
    const url = urlOf(this.#options.baseUrl, operation, input);
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), this.#options.timeoutMs ?? defaultTimeoutMs);
    // Browsers refuse a `fetch` that is called as a method of another object.
    const fetch = this.#fetch;
    try {
      return await fetch(url, {
        method: operation.method,
        headers: headersOf(operation, input, token),
        redirect: 'manual',
        signal: input.signal ? AbortSignal.any([input.signal, patience.signal]) : patience.signal,
        ...(input.body !== undefined && { body: JSON.stringify(input.body) }),
      });
    } catch (cause) {
      if (input.signal?.aborted) throw input.signal.reason;
      const message = patience.signal.aborted
        ? 'The service did not answer in time.'
        : 'The service could not be reached.';
      throw new HoldfastError('NETWORK_ERROR', message, { status: 0, cause });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Some good answers have an error status: an unhealthy service still returns its report. */
function isGoodAnswer(operation: Operation, status: number): boolean {
  return operation.alternatives?.some((success) => success.status === status) ?? false;
}

async function unwrap(operation: Operation, response: Response): Promise<unknown> {
  const { kind } = operation.success;
  if (kind === 'stream') return new HoldfastStream(response);
  if (kind === 'redirect') return response.headers.get('location') ?? '';
  const type = response.headers.get('content-type') ?? '';
  if (kind === 'bare' && !type.includes('json')) return response.text();
  if (kind === 'bare') return response.json();
  const { success: _, ...body } = (await response.json()) as Record<string, unknown>;
  if (kind === 'message') return body.message;
  return kind === 'data' ? body.data : body;
}
