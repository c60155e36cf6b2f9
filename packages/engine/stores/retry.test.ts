import { describe, expect, test } from 'vitest';
import { type BlobInfo, isEngineError } from '../ports/index.ts';
import { AttemptError, type AttemptStore } from './attempt.ts';
import { memoryAttempts } from './memory/memory-store.ts';
import { retrying } from './retry.ts';
import { withRetries } from './with-retries.ts';

const policy = { attemptsMax: 5, delayMsMin: 1, delayMsMax: 4, budgetMs: 10_000 };
const passing = (more: object = {}) => new AttemptError('STORAGE_UNAVAILABLE', 'not now', { retry: true, ...more });
const bytes = new TextEncoder().encode('content');

async function failureOf(promise: Promise<unknown>): Promise<AttemptError> {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(AttemptError);
  return error;
}

describe('retrying', () => {
  test('ends with the first success and tries no more than allowed', async () => {
    let attempts = 0;
    const result = await retrying({ policy, signal: undefined }, async () => {
      if (++attempts < 3) throw passing();
      return 'done';
    });
    expect([result, attempts]).toEqual(['done', 3]);
    attempts = 0;
    const error = await failureOf(
      retrying({ policy, signal: undefined }, async () => Promise.reject(passing({ details: { n: ++attempts } }))),
    );
    expect(attempts).toBe(5);
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retry: false, details: { attempts: 5 } });
  });

  test('does not repeat what cannot pass', async () => {
    let attempts = 0;
    await failureOf(
      retrying({ policy, signal: undefined }, async () => {
        attempts++;
        throw new AttemptError('STORAGE_PERMISSION_DENIED', 'no');
      }),
    );
    expect(attempts).toBe(1);
  });

  test('keeps its budget of time however many attempts are left', async () => {
    let attempts = 0;
    const patient = { attemptsMax: 1000, delayMsMin: 20, delayMsMax: 40, budgetMs: 150 };
    const tried = retrying({ policy: patient, signal: undefined }, async () => {
      attempts++;
      throw passing();
    });
    await failureOf(tried);
    // No wait is shorter than ten milliseconds; a machine that is slow makes it fewer attempts, never more.
    expect(attempts).toBeLessThanOrEqual(16);
  });

  test('waits differently each time, and longer when it was told to slow down', async () => {
    const waits = async (throttled: boolean) => {
      const times: number[] = [];
      await failureOf(
        retrying(
          { policy: { ...policy, attemptsMax: 6, delayMsMin: 8, delayMsMax: 200 }, signal: undefined },
          async () => {
            times.push(performance.now());
            throw passing({ throttled });
          },
        ),
      );
      return times.slice(1).map((time, index) => time - times[index]!);
    };
    const [usual, throttled] = await Promise.all([waits(false), waits(true)]);
    // Timers are late on a busy machine and never early: what each wait is at least is what counts.
    for (const [n, wait] of usual.entries()) expect(wait).toBeGreaterThanOrEqual(Math.min(200, 8 * 2 ** n) / 2 - 1);
    for (const [n, wait] of throttled.entries())
      expect(wait).toBeGreaterThanOrEqual(Math.min(200, 16 * 2 ** n) / 2 - 1);
    expect(new Set(usual.map((wait) => wait.toFixed(3))).size).toBe(usual.length);
  });

  test('a signal ends the waiting at once', async () => {
    const controller = new AbortController();
    const slow = { attemptsMax: 3, delayMsMin: 60_000, delayMsMax: 60_000, budgetMs: 600_000 };
    setTimeout(() => controller.abort(), 20);
    const startedAtMs = performance.now();
    const error = await retrying({ policy: slow, signal: controller.signal }, async () =>
      Promise.reject(passing()),
    ).catch((reason) => reason);
    expect(isEngineError(error, 'CANCELLED')).toBe(true);
    expect(performance.now() - startedAtMs).toBeLessThan(30_000);
  });
});

/** A memory store whose puts can be watched and spoilt. */
function watched(spoil: (put: () => Promise<BlobInfo>, attempt: number) => Promise<BlobInfo>) {
  const inner = memoryAttempts();
  const calls = { puts: 0, holds: 0 };
  const store: AttemptStore = {
    ...inner,
    put: (key, content, options) => spoil(() => inner.put(key, content, options), ++calls.puts),
    holds: (key, content, options) => {
      calls.holds++;
      return inner.holds(key, content, options);
    },
  };
  return { store: withRetries(store, policy), calls };
}

describe('a lost acknowledgement', () => {
  const loseFirst = async (put: () => Promise<BlobInfo>, attempt: number) => {
    const info = await put();
    if (attempt === 1) throw passing({ mayHaveHappened: true });
    return info;
  };

  test.each([{}, { ifAbsent: true }])('is resolved by looking, and nothing is written twice (%j)', async (options) => {
    const { store, calls } = watched(loseFirst);
    expect(await store.put('a', bytes, options)).toMatchObject({ key: 'a', size: bytes.length });
    expect(calls).toEqual({ puts: 1, holds: 1 });
  });

  test('of a conditional replacement is a success, not a conflict with itself', async () => {
    const { store, calls } = watched((put, attempt) => loseFirst(put, attempt - 1));
    const { etag } = await store.put('a', new TextEncoder().encode('before'));
    await store.put('a', bytes, { ifMatch: etag });
    expect(calls.puts).toBe(2);
    expect(Buffer.from(await store.get('a')).toString()).toBe('content');
  });

  test('of the very last attempt is still found out', async () => {
    const { store, calls } = watched(async (put, attempt) => {
      if (attempt === 1) throw passing();
      await put();
      throw new AttemptError('STORAGE_UNAVAILABLE', 'gone', { retry: false, mayHaveHappened: true });
    });
    await store.put('a', bytes);
    expect(calls.puts).toBe(2);
  });

  test('that had not been stored is written again', async () => {
    const { store, calls } = watched(async (put, attempt) => {
      if (attempt === 1) throw passing({ mayHaveHappened: true });
      return put();
    });
    await store.put('a', bytes);
    expect(calls).toEqual({ puts: 2, holds: 1 });
  });

  test("does not turn another writer's object into ours", async () => {
    const inner = memoryAttempts();
    const store = withRetries(
      {
        ...inner,
        async put(key, content, options) {
          if (!(await inner.head(key))) {
            await inner.put(key, new TextEncoder().encode('other'), {});
            throw passing({ mayHaveHappened: true });
          }
          return inner.put(key, content, options);
        },
      },
      policy,
    );
    const error = await store.put('a', bytes, { ifAbsent: true }).catch((reason) => reason);
    expect(isEngineError(error, 'STORAGE_CONFLICT')).toBe(true);
  });
});

test('a listing that breaks in the middle gives every key once', async () => {
  const inner = memoryAttempts();
  for (let index = 0; index < 20; index++) await inner.put(`k/${String(index).padStart(2, '0')}`, bytes);
  let given = 0;
  const store = withRetries(
    {
      ...inner,
      async *list(prefix, options) {
        for await (const info of inner.list(prefix, options)) {
          if (++given % 4 === 0) throw passing();
          yield info;
        }
      },
    },
    policy,
  );
  const keys: string[] = [];
  for await (const { key } of store.list('k/')) keys.push(key);
  expect(keys).toEqual(Array.from({ length: 20 }, (_, index) => `k/${String(index).padStart(2, '0')}`));
});
