import type { Redis } from 'ioredis';
import type { Logger } from './log.ts';
import { type RateLimiter, type RateLimitState, rateLimitState, windowMs } from './rate-limit.ts';

const takeScript = `local count = redis.call('incr', KEYS[1])
if count == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end
return {count, redis.call('pttl', KEYS[1])}`;

export async function connectRedis(url: string, log: Logger): Promise<Redis> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    connectTimeout: 3000,
  });
  // Each failed attempt to reconnect emits its own error.
  let isAway = false;
  redis.on('error', (error: Error) => {
    if (!isAway) log.warn({ err: error }, 'Redis is away: each process counts its own calls until it is back');
    isAway = true;
  });
  redis.on('ready', () => {
    if (isAway) log.info('Redis is back');
    isAway = false;
  });
  redis.connect().catch(() => undefined);
  return redis;
}

/**
 * Shared by all API processes. While Redis is away each process counts for itself, so a lost Redis loosens the limit
 * but blocks nobody.
 */
export class RedisRateLimiter implements RateLimiter {
  readonly #redis: Redis;
  readonly #fallback: RateLimiter;

  constructor(redis: Redis, fallback: RateLimiter) {
    this.#redis = redis;
    this.#fallback = fallback;
  }

  async take(key: string, limit: number): Promise<RateLimitState> {
    try {
      const [count, remainingMs] = (await this.#redis.eval(takeScript, 1, `holdfast:rate:${key}`, windowMs)) as [
        number,
        number,
      ];
      return rateLimitState(count, limit, remainingMs);
    } catch {
      return this.#fallback.take(key, limit);
    }
  }
}
