import { minuteMs } from '../../../platform/durations.ts';

/** Attempts of a delivery in the standard format, and how long each waits after the end of the previous one. */
export const attemptsMax = 5;
const delaysMs = [0, minuteMs, 5 * minuteMs, 30 * minuteMs, 120 * minuteMs];
/** An endpoint may ask for a longer delay, up to the longest of our own. */
const retryAfterMaxMs = 120 * minuteMs;

export interface RetryRules {
  format: 'standard' | 'simple';
  retryEnabled: boolean;
}

/** The number of automatic attempts of a delivery. People may ask for more. */
export function automaticAttempts(rules: RetryRules): number {
  return rules.format === 'standard' && rules.retryEnabled ? attemptsMax : 1;
}

/** When the next attempt is due after `attempt` failed at `endedAt`; null when there is none. */
export function nextAttempt(rules: RetryRules, attempt: number, endedAt: Date, retryAfterMs: number): Date | null {
  if (attempt >= automaticAttempts(rules)) return null;
  const delayMs = Math.max(delaysMs[attempt] ?? 0, Math.min(retryAfterMs, retryAfterMaxMs));
  return new Date(endedAt.getTime() + delayMs);
}

/** `Retry-After` as seconds or as a date, in milliseconds from now; 0 when it is absent or unreadable. */
export function parseRetryAfter(header: string | undefined, now: Date): number {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const atMs = /^[A-Za-z]{3}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - now.getTime());
}
