import { minuteMs } from '../durations.ts';

/** How long a client waits when the service asks it to. */
export interface RetryOptions {
  /** The total number of attempts; 1 switches retries off. */
  readonly attemptsMax: number;
  /** The wait before the second attempt if the service names none; it doubles each time. */
  readonly delayMs: number;
  /** A longer wait is the caller's decision: the error is thrown instead. */
  readonly delayMsMax: number;
}

export const defaultRetry: RetryOptions = { attemptsMax: 4, delayMs: 500, delayMsMax: minuteMs };

const retriedStatuses = new Set([429, 503]);

export function isRetried(status: number): boolean {
  return retriedStatuses.has(status);
}

/** `Retry-After` holds seconds or a date. */
function askedDelayMs(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const atMs = Date.parse(retryAfter);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - Date.now());
}

/** Undefined: not worth waiting for. */
export function delayBefore(attempt: number, retryAfter: string | null, options: RetryOptions): number | undefined {
  if (attempt >= options.attemptsMax) return undefined;
  const backoffMs = options.delayMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
  const delayMs = askedDelayMs(retryAfter) ?? backoffMs;
  return delayMs <= options.delayMsMax ? delayMs : undefined;
}

export async function wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, delayMs);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
