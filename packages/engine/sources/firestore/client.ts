/** One database behind a channel: how it is addressed, how calls are retried, what they have cost. */

import type { SourceUsage } from '../../ports/index.ts';
import { minuteMs } from '../../time/durations.ts';
import { RateLimiter } from './rate-limiter.ts';
import { RestSupport } from './rest-support.ts';
import { Retrier, type RetryOptions, retryDefaults } from './retry.ts';
import type { GrpcChannel } from './transport/channel.ts';
import { GrpcError } from './transport/status.ts';

const unaryTimeoutMs = minuteMs;

export interface ClientOptions {
  readonly channel: GrpcChannel;
  /** `projects/{project}/databases/{database}`. */
  readonly database: string;
  readonly retry?: Partial<RetryOptions>;
  /** Documents per second that all scans of this client together may read; absent: unlimited. */
  readonly readRateLimit?: number;
  /** How long a server may be silent over REST while it is not known to support that (15 seconds). */
  readonly restAnswerTimeoutMs?: number;
}

export interface CollectLimits {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** Status codes that the caller handles better than by trying again. */
  readonly giveUpOn?: ((code: number) => boolean) | undefined;
}

export class FirestoreClient {
  readonly channel: GrpcChannel;
  readonly database: string;
  /** The parent of all paths: `{database}/documents`. */
  readonly root: string;
  readonly retry: RetryOptions;
  readonly usage: { -readonly [Key in keyof SourceUsage]: SourceUsage[Key] };
  readonly readRate: RateLimiter | undefined;
  readonly rest: RestSupport;

  constructor(options: ClientOptions) {
    this.channel = options.channel;
    this.database = options.database;
    this.root = `${options.database}/documents`;
    this.retry = { ...retryDefaults, ...options.retry };
    this.usage = { documentsRead: 0, bytesReceived: 0, documentsWritten: 0, documentsDeleted: 0 };
    this.readRate = options.readRateLimit === undefined ? undefined : new RateLimiter(options.readRateLimit);
    this.rest = new RestSupport(options.restAnswerTimeoutMs);
  }

  name(path: string): string {
    return path === '' ? this.root : `${this.root}/${path}`;
  }

  retrier(signal: AbortSignal | undefined): Retrier {
    return new Retrier(this.retry, () => this.channel.invalidateCredentials(), signal);
  }

  routing(parameter: 'database' | 'parent' | 'name'): string {
    return `${parameter}=${encodeURIComponent(parameter === 'parent' ? this.root : this.database)}`;
  }

  /** A unary call that may be repeated. */
  async unary(
    path: string,
    routing: string,
    message: Uint8Array,
    signal: AbortSignal | undefined,
    timeoutMs = unaryTimeoutMs,
  ): Promise<Buffer> {
    const retrier = this.retrier(signal);
    for (;;) {
      try {
        const answer = await this.channel.unary(path, routing, message, { timeoutMs, signal });
        this.usage.bytesReceived += answer.length;
        return answer;
      } catch (error) {
        await retrier.afterFailure(error);
      }
    }
  }

  /** A server-streaming call with few, small answers, collected; repeated from the start when it breaks. */
  async collect(path: string, routing: string, message: Uint8Array, limits: CollectLimits): Promise<Buffer[]> {
    const { signal, giveUpOn, timeoutMs = unaryTimeoutMs } = limits;
    const retrier = this.retrier(signal);
    for (;;) {
      try {
        return await this.#collectOnce(path, routing, message, signal, timeoutMs);
      } catch (error) {
        if (error instanceof GrpcError && giveUpOn?.(error.code)) throw error;
        await retrier.afterFailure(error);
      }
    }
  }

  #collectOnce(
    path: string,
    routing: string,
    message: Uint8Array,
    signal: AbortSignal | undefined,
    timeoutMs: number,
  ): Promise<Buffer[]> {
    return new Promise((resolve, reject) => {
      const answers: Buffer[] = [];
      const handlers = {
        onMessage: (bytes: Buffer, start: number, end: number) => {
          answers.push(Buffer.from(bytes.subarray(start, end)));
          this.usage.bytesReceived += end - start;
        },
        onEnd: (error: unknown) => (error === undefined ? resolve(answers) : reject(error)),
      };
      this.channel.open(path, routing, handlers, { timeoutMs, signal }).then((call) => {
        call.send(message);
        call.halfClose();
      }, reject);
    });
  }
}
