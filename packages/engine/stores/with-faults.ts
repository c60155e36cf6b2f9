import { setTimeout as sleep } from 'node:timers/promises';
import { AttemptError, type AttemptStore } from './attempt.ts';

/** What goes wrong between the engine and a store, in shares of calls from 0 to 1. */
export interface StoreFaults {
  seed: number;
  errorRate?: number;
  throttleRate?: number;
  delayRate?: number;
  delayMsMax?: number;
  /** A put or delete is done, and then its answer is lost. */
  lostAckRate?: number;
  /** One byte of what is read is changed, and nobody below notices: what the engine's own seals are for. */
  corruptRate?: number;
}

/** Wraps a store that tries once. Put `withRetries` around it, so that the engine meets what is left after retries. */
export function withFaults(store: AttemptStore, faults: StoreFaults): AttemptStore {
  const random = seededRandom(faults.seed);
  const happens = (rate: number | undefined) => random() < (rate ?? 0);
  const before = async () => {
    if (happens(faults.delayRate)) await sleep(random() * (faults.delayMsMax ?? 5));
    if (happens(faults.errorRate))
      throw new AttemptError('STORAGE_UNAVAILABLE', 'An injected error.', { retry: true, mayHaveHappened: true });
    if (happens(faults.throttleRate))
      throw new AttemptError('STORAGE_UNAVAILABLE', 'An injected refusal.', { retry: true, throttled: true });
  };
  const written = async <Result>(run: () => Promise<Result>) => {
    await before();
    const result = await run();
    if (happens(faults.lostAckRate))
      throw new AttemptError('STORAGE_UNAVAILABLE', 'An injected lost answer.', { retry: true, mayHaveHappened: true });
    return result;
  };
  const read = async (run: () => Promise<Uint8Array>) => {
    await before();
    const bytes = await run();
    if (bytes.length === 0 || !happens(faults.corruptRate)) return bytes;
    const damaged = bytes.slice();
    damaged[Math.floor(random() * bytes.length)]! ^= 1;
    return damaged;
  };
  return {
    location: store.location,
    put: (key, bytes, options) => written(() => store.put(key, bytes, options)),
    delete: (keys, options) => written(() => store.delete(keys, options)),
    extendLock: (keys, lock, options) => written(() => store.extendLock(keys, lock, options)),
    get: (key, options) => read(() => store.get(key, options)),
    getRange: (key, offset, length, options) => read(() => store.getRange(key, offset, length, options)),
    lockAbility: (options) => before().then(() => store.lockAbility(options)),
    head: (key, options) => before().then(() => store.head(key, options)),
    holds: (key, bytes, options) => before().then(() => store.holds(key, bytes, options)),
    async *list(prefix, options) {
      for await (const info of store.list(prefix, options)) {
        // Once in a while, as if at the border of a page.
        if (happens(0.02)) await before();
        yield info;
      }
    },
    async *listHidden(prefix, options) {
      for await (const object of store.listHidden(prefix, options)) {
        if (happens(0.02)) await before();
        yield object;
      }
    },
    purgeHidden: (objects, options) => written(() => store.purgeHidden(objects, options)),
    close: () => store.close(),
  };
}

/** The same faults for the same seed, whatever the machine (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
