import type { FastifyReply } from 'fastify';
import { Problem } from '../platform/problem.ts';
import type { RateLimiter, RateLimitState } from '../platform/rate-limit.ts';

/** Counts one call against each key and tells the tightest of them in the headers; throws RATE_LIMITED past a limit. */
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
  reply.header('ratelimit-policy', `"${policy}";q=${tightest.limit};w=60`);
  reply.header('ratelimit', `"${policy}";r=${tightest.remaining};t=${tightest.resetSeconds}`);
  if (tightest.allowed) return;
  reply.header('retry-after', String(tightest.resetSeconds));
  throw new Problem('RATE_LIMITED', `Too many requests. Try again in ${tightest.resetSeconds} s.`);
}
