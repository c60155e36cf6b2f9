/** Retries with limits: exponential delays with jitter, a number of attempts without progress, one token renewal. */

import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError, noteResumed, noteWaiting } from '../../ports/index.ts';
import { sourceFailure } from './failures.ts';
import { GrpcError, grpcCode, isTransient } from './transport/status.ts';

export interface RetryOptions {
  /** Failures in a row, without any message in between, after which the error is thrown. */
  readonly attemptsMax: number;
  readonly delayBaseMs: number;
  readonly delayMaxMs: number;
}

export const retryDefaults: RetryOptions = { attemptsMax: 10, delayBaseMs: 200, delayMaxMs: 30_000 };

export class Retrier {
  readonly #options: RetryOptions;
  readonly #renewCredentials: () => void;
  readonly #signal: AbortSignal | undefined;
  #failures = 0;
  #renewed = false;

  constructor(options: RetryOptions, renewCredentials: () => void, signal?: AbortSignal) {
    this.#options = options;
    this.#renewCredentials = renewCredentials;
    this.#signal = signal;
  }

  /** Something arrived, so failures are counted from zero. */
  progress(): void {
    if (this.#failures > 0) noteResumed();
    this.#failures = 0;
    this.#renewed = false;
  }

  /** Waits until another attempt makes sense, or throws the error. */
  async afterFailure(error: unknown): Promise<void> {
    throwIfAborted(this.#signal);
    if (error instanceof GrpcError && error.code === grpcCode.UNAUTHENTICATED && !this.#renewed) {
      this.#renewed = true;
      this.#renewCredentials();
      return;
    }
    if (!isTransient(error)) throw error;
    this.#failures += 1;
    if (this.#failures >= this.#options.attemptsMax) throw error;
    noteWaiting(sourceFailure(error));
    const exhausted = error instanceof GrpcError && error.code === grpcCode.RESOURCE_EXHAUSTED;
    await pause(backoffMs(this.#options, this.#failures + (exhausted ? 2 : 0)), this.#signal);
  }
}

/** Half of the delay is fixed, half is random, so that many workers do not come back at once. */
export function backoffMs(options: RetryOptions, failures: number): number {
  const full = Math.min(options.delayMaxMs, options.delayBaseMs * 2 ** (failures - 1));
  return full / 2 + Math.random() * (full / 2);
}

export async function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(delayMs, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    throwIfAborted(signal);
    throw error;
  }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError('CANCELLED', 'The work was cancelled.', { cause: signal.reason });
}
