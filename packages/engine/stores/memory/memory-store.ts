import { createHash } from 'node:crypto';
import type { BlobInfo, BlobStore, PutOptions } from '../../ports/index.ts';
import { throwIfCancelled } from '../../ports/index.ts';
import { type AttemptStore, conflict, endsBefore, locked, notFound, tooLarge } from '../attempt.ts';
import { bytesMaxDefault } from '../keys.ts';
import { withRetries } from '../with-retries.ts';

export interface MemoryStoreOptions {
  name?: string;
  now?: () => Date;
}

interface Held {
  bytes: Uint8Array;
  info: BlobInfo;
  retainUntil: Date | undefined;
}

/** Everything in a map: for tests, and the plainest reading of what the port asks. */
export function createMemoryStore(options: MemoryStoreOptions = {}): BlobStore {
  return withRetries(memoryAttempts(options));
}

export function memoryAttempts({ name = 'memory', now = () => new Date() }: MemoryStoreOptions = {}): AttemptStore {
  const objects = new Map<string, Held>();
  const location = `memory://${name}`;
  const find = (key: string) => {
    const held = objects.get(key);
    if (!held) throw notFound(location, key);
    return held;
  };
  const isLocked = (held: Held | undefined) => held?.retainUntil !== undefined && held.retainUntil > now();
  return {
    location,
    async put(key, bytes, put) {
      throwIfCancelled(put?.signal);
      const current = objects.get(key);
      if (put?.ifAbsent && current) throw conflict(location, key);
      if (put?.ifMatch !== undefined && current?.info.etag !== put.ifMatch) throw conflict(location, key);
      if (isLocked(current)) throw locked(location, [key]);
      const held = hold(key, bytes, put, now());
      objects.set(key, held);
      return held.info;
    },
    async get(key, get) {
      throwIfCancelled(get?.signal);
      const { bytes } = find(key);
      const bytesMax = get?.bytesMax ?? bytesMaxDefault;
      if (bytes.length > bytesMax) throw tooLarge(location, key, bytes.length, bytesMax);
      return bytes.slice();
    },
    async getRange(key, offset, length, call) {
      throwIfCancelled(call?.signal);
      const { bytes } = find(key);
      if (offset + length > bytes.length) throw endsBefore(location, key, offset, length);
      return bytes.slice(offset, offset + length);
    },
    async head(key, call) {
      throwIfCancelled(call?.signal);
      return objects.get(key)?.info;
    },
    async *list(prefix, list) {
      const after = list?.startAfter ?? '';
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
      for (const key of keys) {
        throwIfCancelled(list?.signal);
        const held = objects.get(key);
        if (held) yield held.info;
      }
    },
    async delete(keys, call) {
      throwIfCancelled(call?.signal);
      const kept = keys.filter((key) => isLocked(objects.get(key)));
      for (const key of keys) if (!kept.includes(key)) objects.delete(key);
      if (kept.length > 0) throw locked(location, kept);
      return { versionsKept: false };
    },
    async extendLock(keys, lock, call) {
      throwIfCancelled(call?.signal);
      for (const key of keys) {
        const held = find(key);
        if (!held.retainUntil || held.retainUntil < lock.retainUntil) held.retainUntil = lock.retainUntil;
      }
    },
    async holds(key, bytes, put) {
      const held = objects.get(key);
      const until = put?.lock?.retainUntil;
      if (until && !(held?.retainUntil && held.retainUntil >= until)) return undefined;
      return held && Buffer.compare(held.bytes, bytes) === 0 ? held.info : undefined;
    },
    async close() {},
  };
}

function hold(key: string, bytes: Uint8Array, put: PutOptions | undefined, modifiedAt: Date): Held {
  const etag = createHash('sha256').update(bytes).digest('hex');
  return {
    bytes: bytes.slice(),
    info: { key, size: bytes.length, etag, modifiedAt },
    retainUntil: put?.lock?.retainUntil,
  };
}
