import type { FastifyReply } from 'fastify';
import { secondMs } from '../platform/durations.ts';
import { QuotaUsedUp, type UsedUpQuota } from '../platform/problem.ts';
import { type RateLimiter, type RateLimitState, windowMs } from '../platform/rate-limit.ts';

/** Counts one call against each key and puts the tightest limit in the headers; throws RATE_LIMITED past a limit. */
export async function limitRate(
  limiter: RateLimiter,
  keys: readonly string[],
  limit: number,
  policy: string,
  reply: FastifyReply,
): Promise<void> {
  let tightest: RateLimitState | undefined;
  for (const key of keys) {
    const state = await limiter.take(key, limit);
    if (!tightest || !state.allowed || (tightest.allowed && state.remaining < tightest.remaining)) tightest = state;
  }
  if (!tightest) return;
  const { allowed, remaining, ...state } = tightest;
  const quota = { policy, windowSeconds: windowMs / secondMs, ...state };
  if (!allowed) throw new QuotaUsedUp(`Too many requests. Try again in ${state.resetSeconds} s.`, quota);
  setQuotaHeaders(reply, quota, remaining);
}

/** The last call wins: a used-up quota is tighter than one with something left. */
export function setQuotaHeaders(
  reply: FastifyReply,
  { policy, limit, windowSeconds, resetSeconds }: UsedUpQuota,
  remaining: number,
): void {
  reply.header('ratelimit-policy', `"${policy}";q=${limit};w=${windowSeconds}`);
  reply.header('ratelimit', `"${policy}";r=${remaining};t=${resetSeconds}`);
}
