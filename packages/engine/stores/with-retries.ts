import type { BlobInfo, CallOptions, ListOptions, PutOptions, VersionedBlobStore } from '../ports/index.ts';
import { isEngineError } from '../ports/index.ts';
import { AttemptError, type AttemptStore, listingDoesNotAdvance, unexpectedName } from './attempt.ts';
import { checkKey, checkPrefix, checkRange, checkReadKey, isBehind } from './keys.ts';
import { type RetryContext, type RetryPolicy, retryDefault, retrying } from './retry.ts';

/**
 * Turns a store that makes single attempts into one that keeps the port's promises. The only place where calls are
 * repeated and lost answers resolved.
 */
export function withRetries(store: AttemptStore, policy: Partial<RetryPolicy> = {}): VersionedBlobStore {
  const whole: RetryPolicy = { ...retryDefault, ...policy };
  const context = (options: CallOptions | undefined): RetryContext => ({ policy: whole, signal: options?.signal });
  return {
    location: store.location,
    async put(key, bytes, options) {
      checkKey(key);
      return putting(store, key, bytes, options, context(options));
    },
    async get(key, options) {
      checkReadKey(key);
      return retrying(context(options), () => store.get(key, options));
    },
    async getRange(key, offset, length, options) {
      checkReadKey(key);
      checkRange(offset, length);
      return retrying(context(options), () => store.getRange(key, offset, length, options));
    },
    async head(key, options) {
      checkReadKey(key);
      return retrying(context(options), () => store.head(key, options));
    },
    list(prefix, options) {
      checkPrefix(prefix);
      return listing(store.location, prefix, options, whole, (from) => store.list(prefix, from));
    },
    listHidden(prefix, options) {
      checkPrefix(prefix);
      return listing(store.location, prefix, options, whole, (from) => store.listHidden(prefix, from));
    },
    async purgeHidden(objects, options) {
      for (const { key } of objects) checkKey(key);
      return retrying(context(options), () => store.purgeHidden(objects, options));
    },
    async delete(keys, options) {
      for (const key of keys) checkKey(key);
      if (keys.length === 0) return { versionsKept: false };
      return retrying(context(options), () => store.delete(keys, options));
    },
    async extendLock(keys, lock, options) {
      for (const key of keys) checkKey(key);
      if (keys.length > 0) await retrying(context(options), () => store.extendLock(keys, lock, options));
    },
    async lockAbility(options) {
      return retrying(context(options), () => store.lockAbility(options));
    },
    close: () => store.close(),
  };
}

/**
 * After a lost answer, first asks whether the put arrived. Without that, a bucket that keeps versions would hold the
 * object twice, and a conditional put would conflict with itself.
 */
async function putting(
  store: AttemptStore,
  key: string,
  bytes: Uint8Array,
  options: PutOptions | undefined,
  context: RetryContext,
): Promise<BlobInfo> {
  let mayBeStored = false;
  const findStored = () => retrying(context, () => store.holds(key, bytes, options));
  const attempt = async () => {
    const arrived = mayBeStored ? await findStored() : undefined;
    if (arrived) return arrived;
    try {
      return await store.put(key, bytes, options);
    } catch (error) {
      if (error instanceof AttemptError && error.mayHaveHappened) mayBeStored = true;
      if (!isEngineError(error, 'STORAGE_CONFLICT') || !(options?.ifAbsent || mayBeStored)) throw error;
      const same = await findStored();
      if (same) return same;
      throw error;
    }
  };
  try {
    return await retrying(context, attempt);
  } catch (error) {
    if (!mayBeStored || options?.signal?.aborted) throw error;
    let arrived: BlobInfo | undefined;
    try {
      arrived = await findStored();
    } catch {
      throw error;
    }
    if (arrived) return arrived;
    throw uploadFailure(error);
  }
}

/** A storage that answers reads but fails every write is not away; it refuses to keep what it is sent. */
function uploadFailure(error: unknown): unknown {
  const isFailure = error instanceof AttemptError && error.code === 'STORAGE_UNAVAILABLE';
  if (!isFailure || !(Number(error.details.status) >= 500)) return error;
  const { details, mayHaveHappened, cause } = error;
  return new AttemptError('STORAGE_UPLOAD_ERROR', error.message, { details, mayHaveHappened, cause });
}

/** A failed page is asked for again from the last key that was yielded, so that no key comes twice or is left out. */
async function* listing<Item extends { readonly key: string }>(
  location: string,
  prefix: string,
  options: ListOptions | undefined,
  policy: RetryPolicy,
  list: (options: ListOptions) => AsyncIterable<Item>,
): AsyncGenerator<Item> {
  let startAfter = options?.startAfter;
  const signal = options?.signal;
  let iterator: AsyncIterator<Item> | undefined;
  try {
    for (;;) {
      const next = await retrying({ policy, signal }, async () => {
        const from = { ...(signal && { signal }), ...(startAfter !== undefined && { startAfter }) };
        iterator ??= list(from)[Symbol.asyncIterator]();
        try {
          return await iterator.next();
        } catch (error) {
          iterator = undefined;
          throw error;
        }
      });
      if (next.done) return;
      const { key } = next.value;
      if (!key.startsWith(prefix)) throw unexpectedName(location, prefix);
      if (startAfter !== undefined && !isBehind(key, startAfter)) throw listingDoesNotAdvance(location, prefix);
      startAfter = key;
      yield next.value;
    }
  } finally {
    await iterator?.return?.();
  }
}
