/** The Identity Toolkit calls for user accounts, with the same retries as database calls. */

import { EngineError } from '../../../ports/index.ts';
import { minuteMs } from '../../../time/durations.ts';
import { accountsFailure } from '../failures.ts';
import { Retrier, type RetryOptions } from '../retry.ts';
import type { Credentials } from '../transport/credentials.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';

export interface AccountsClientOptions {
  readonly origin: string;
  readonly projectId: string;
  readonly credentials: Credentials;
  readonly retry: RetryOptions;
}

export type JsonObject = { readonly [field: string]: unknown };

const timeoutMs = minuteMs;

const codeOfStatus: Readonly<Record<number, number>> = {
  400: grpcCode.INVALID_ARGUMENT,
  401: grpcCode.UNAUTHENTICATED,
  403: grpcCode.PERMISSION_DENIED,
  404: grpcCode.NOT_FOUND,
  409: grpcCode.ABORTED,
  429: grpcCode.RESOURCE_EXHAUSTED,
};

export class AccountsClient {
  readonly #options: AccountsClientOptions;

  constructor(options: AccountsClientOptions) {
    this.#options = options;
  }

  /** `path` comes after the project: `accounts:batchGet?maxResults=1000`. */
  get(path: string, signal: AbortSignal | undefined, version = 'v1'): Promise<JsonObject> {
    return this.#call('GET', `/${version}/projects/${this.#options.projectId}/${path}`, undefined, signal);
  }

  /**
   * `onSilence` is called when an attempt got no answer, or one that does not say what was done; it is then repeated or
   * given up.
   */
  post(path: string, body: JsonObject, signal: AbortSignal | undefined, onSilence?: () => void): Promise<JsonObject> {
    const address = `/v1/projects/${this.#options.projectId}/${path}`;
    return this.#call('POST', address, JSON.stringify(body), signal, onSilence);
  }

  async #call(
    method: string,
    path: string,
    body: string | undefined,
    signal: AbortSignal | undefined,
    onSilence?: () => void,
  ): Promise<JsonObject> {
    const { retry, credentials } = this.#options;
    const retrier = new Retrier(retry, () => credentials.invalidate(), signal);
    for (;;) {
      try {
        return await this.#attempt(method, path, body, signal);
      } catch (error) {
        if (error instanceof GrpcError && error.code === grpcCode.UNAVAILABLE) onSilence?.();
        await retrier.afterFailure(error).catch((final: unknown) => {
          throw final instanceof EngineError ? final : accountsFailure(final);
        });
      }
    }
  }

  async #attempt(
    method: string,
    path: string,
    body: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<JsonObject> {
    const { origin, credentials } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    const headers: Record<string, string> = { authorization: await credentials.authorization(signal) };
    if (body !== undefined) headers['content-type'] = 'application/json';
    let status: number;
    let answer: JsonObject;
    try {
      const response = await fetch(origin + path, {
        method,
        headers,
        redirect: 'error',
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        ...(body === undefined ? {} : { body }),
      });
      status = response.status;
      answer = (await response.json()) as JsonObject;
    } catch (error) {
      throw new GrpcError(grpcCode.UNAVAILABLE, 'the accounts API did not answer', { cause: error });
    }
    if (status === 200) return answer;
    const { message } = (answer.error ?? {}) as { message?: string };
    throw new GrpcError(codeOfStatus[status] ?? grpcCode.UNAVAILABLE, message ?? `HTTP ${status}`);
  }
}
