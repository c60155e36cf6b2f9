import { setTimeout as sleep } from 'node:timers/promises';
import { noteResumed, noteWaiting, throwIfCancelled } from '../ports/index.ts';
import { AttemptError } from './attempt.ts';

export interface RetryPolicy {
  /** Attempts of one call, the first among them. */
  attemptsMax: number;
  delayMsMin: number;
  delayMsMax: number;
  /** No attempt begins when this much time has passed since the first one. */
  budgetMs: number;
}

export const retryDefault: RetryPolicy = { attemptsMax: 12, delayMsMin: 100, delayMsMax: 10_000, budgetMs: 180_000 };

export interface RetryContext {
  policy: RetryPolicy;
  signal: AbortSignal | undefined;
}

/**
 * Repeats an attempt while its errors are temporary. The delay grows and is random: clients that were refused together
 * must not come back together.
 */
export async function retrying<Result>(
  { policy, signal }: RetryContext,
  attempt: (attemptNumber: number) => Promise<Result>,
): Promise<Result> {
  const startedAtMs = performance.now();
  for (let attemptNumber = 1; ; attemptNumber++) {
    throwIfCancelled(signal);
    try {
      const result = await attempt(attemptNumber);
      if (attemptNumber > 1) noteResumed();
      return result;
    } catch (error) {
      throwIfCancelled(signal);
      if (!(error instanceof AttemptError) || !error.retry) throw error;
      const delayMs = nextDelayMs(policy, attemptNumber, error.throttled);
      const spentMs = performance.now() - startedAtMs;
      if (attemptNumber >= policy.attemptsMax || spentMs + delayMs > policy.budgetMs)
        throw givenUp(error, attemptNumber, Math.round(spentMs));
      noteWaiting(error);
      await sleep(delayMs, undefined, signal && { signal }).catch(() => {});
    }
  }
}

function nextDelayMs(policy: RetryPolicy, attemptNumber: number, throttled: boolean): number {
  const exponent = Math.min(attemptNumber - 1 + (throttled ? 1 : 0), 20);
  const ceiling = Math.min(policy.delayMsMax, policy.delayMsMin * 2 ** exponent);
  return ceiling / 2 + Math.random() * (ceiling / 2);
}

/** The same error, marked as final for all callers, with what was tried. */
function givenUp(error: AttemptError, attempts: number, spentMs: number): AttemptError {
  return new AttemptError(error.code, `${error.message} (gave up after ${attempts} attempts in ${spentMs} ms)`, {
    details: { ...error.details, attempts, spentMs },
    mayHaveHappened: error.mayHaveHappened,
    cause: error.cause ?? error,
  });
}
