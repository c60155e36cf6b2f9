import { createHash } from 'node:crypto';
import type { BlobInfo, PutOptions, VersionedBlobStore } from '../../ports/index.ts';
import { throwIfCancelled } from '../../ports/index.ts';
import { type AttemptStore, conflict, locked, notFound, objectTooShort, tooLarge } from '../attempt.ts';
import { PurgeCount } from '../hidden.ts';
import { bytesMaxDefault } from '../keys.ts';
import { withRetries } from '../with-retries.ts';

export interface MemoryStoreOptions {
  name?: string;
  now?: () => Date;
  /** As a bucket does that keeps what is replaced or deleted. */
  keepsVersions?: boolean;
}

interface Held {
  bytes: Uint8Array;
  info: BlobInfo;
  retainUntil: Date | undefined;
}

/** Everything in a map: for tests, and the plainest reading of what the port asks. */
export function createMemoryStore(options: MemoryStoreOptions = {}): VersionedBlobStore {
  return withRetries(memoryAttempts(options));
}

export function memoryAttempts(options: MemoryStoreOptions = {}): AttemptStore {
  const { name = 'memory', now = () => new Date(), keepsVersions = false } = options;
  const objects = new Map<string, Held>();
  const former = new Map<string, Map<string, Held>>();
  let versions = 0;
  const keep = (key: string) => {
    const held = objects.get(key);
    if (!held || !keepsVersions) return;
    versions += 1;
    former.set(key, new Map(former.get(key)).set(`v${versions}`, held));
  };
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
      keep(key);
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
      if (offset + length > bytes.length) throw objectTooShort(location, key, offset, length);
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
      for (const key of keys) {
        if (kept.includes(key)) continue;
        keep(key);
        objects.delete(key);
        if (call?.purge) former.delete(key);
      }
      if (kept.length > 0) throw locked(location, kept);
      return { versionsKept: keepsVersions && !call?.purge };
    },
    async *listHidden(prefix, list) {
      const after = list?.startAfter ?? '';
      for (const key of [...former.keys()].sort()) {
        throwIfCancelled(list?.signal);
        if (!key.startsWith(prefix) || key <= after || objects.has(key)) continue;
        const all = [...(former.get(key) ?? [])].map(([id, { info }]) => ({ id, size: info.size }));
        if (all.length > 0) yield { key, versions: all, markers: [] };
      }
    },
    async purgeHidden(hidden, call) {
      throwIfCancelled(call?.signal);
      const count = new PurgeCount();
      for (const object of hidden) {
        const { key } = object;
        if (objects.has(key)) {
          count.returnedKeys.push(key);
          continue;
        }
        const kept = new Map([...(former.get(key) ?? [])].filter(([, held]) => isLocked(held)));
        count.add(object, ({ id }) => kept.has(id));
        if (!call?.dryRun) former.set(key, kept);
      }
      return count;
    },
    async extendLock(keys, lock, call) {
      throwIfCancelled(call?.signal);
      for (const key of keys) {
        const held = find(key);
        if (!held.retainUntil || held.retainUntil < lock.retainUntil) held.retainUntil = lock.retainUntil;
      }
    },
    async lockAbility(call) {
      throwIfCancelled(call?.signal);
      return { canLock: true };
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
    // A slice of a buffer would share its bytes.
    bytes: new Uint8Array(bytes),
    info: { key, size: bytes.length, etag, modifiedAt },
    retainUntil: put?.lock?.retainUntil,
  };
}
