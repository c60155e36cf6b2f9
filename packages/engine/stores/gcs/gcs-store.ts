import type {
  BlobInfo,
  CallOptions,
  DeleteOptions,
  GetOptions,
  HiddenObject,
  ListOptions,
  LockAbility,
  ObjectLock,
  PurgeOptions,
  PurgeOutcome,
  PutOptions,
  Removal,
  VersionedBlobStore,
} from '../../ports/index.ts';
import { EngineError, isEngineError, throwIfCancelled, trackRequest } from '../../ports/index.ts';
import { minuteMs } from '../../time/durations.ts';
import {
  AttemptError,
  type AttemptStore,
  callTimedOut,
  damagedInTransit,
  listingDoesNotAdvance,
  locked,
  lockPermissionMissing,
  objectTooShort,
  tooLarge,
  unexpectedName,
} from '../attempt.ts';
import { collect } from '../collect.ts';
import { forEachLimited } from '../for-each-limited.ts';
import { hiddenAmong, PurgeCount } from '../hidden.ts';
import { bytesMaxDefault, folderPrefix } from '../keys.ts';
import { PageCount } from '../pages.ts';
import { type RetryPolicy, retryDefault, retrying } from '../retry.ts';
import { withRetries } from '../with-retries.ts';
import { bucketPath, GcsClient, type GcsConnection } from './client.ts';
import { gcsError, isMissingBucket, statusOf } from './errors.ts';
import { isHashOf, md5Of } from './hashes.ts';
import { type ObjectResource, objectFields, readLockAbility, readObject, readPage } from './resources.ts';

export interface GcsStoreOptions extends GcsConnection {
  bucket: string;
  /** Keys lie below this folder of the bucket. */
  prefix?: string;
  retry?: Partial<RetryPolicy>;
  /** From the request to the last byte of the answer: one that trickles in ends too. */
  callTimeoutMs?: number;
  now?: () => Date;
}

const callTimeoutMsDefault = 2 * minuteMs;
const pageObjectsMax = 1000;
/** Per object. Ours are written once and seldom again. */
const versionsMax = 100_000;

export function createGcsStore(options: GcsStoreOptions): VersionedBlobStore {
  return withRetries(new GcsAttempts(options), options.retry);
}

export class GcsAttempts implements AttemptStore {
  readonly location: string;
  readonly #client: GcsClient;
  readonly #bucketPath: string;
  readonly #prefix: string;
  readonly #retryPolicy: RetryPolicy;
  readonly #callTimeoutMs: number;
  readonly #now: () => Date;

  constructor(options: GcsStoreOptions) {
    this.#bucketPath = bucketPath(options.bucket);
    this.#prefix = folderPrefix(options.prefix);
    this.#client = new GcsClient(options);
    this.#retryPolicy = { ...retryDefault, ...options.retry };
    this.#callTimeoutMs = options.callTimeoutMs ?? callTimeoutMsDefault;
    this.#now = options.now ?? (() => new Date());
    this.location = `gs://${options.bucket}/${this.#prefix}`;
  }

  async put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo> {
    const upload = async (signal: AbortSignal) => {
      const metadata = { contentType: 'application/octet-stream', md5Hash: md5Of(bytes), ...retentionOf(options) };
      const query = { name: this.#prefix + key, ...conditionsOf(options), fields: objectFields };
      const stored = await this.#client.upload(`${this.#bucketPath}/o`, metadata, bytes, { query, signal });
      return this.#info(key, readObject(stored));
    };
    return this.#attempt(key, options?.signal, upload, bytes.length);
  }

  async get(key: string, options?: GetOptions): Promise<Uint8Array> {
    const bytesMax = options?.bytesMax ?? bytesMaxDefault;
    return this.#attempt(key, options?.signal, async (signal) => {
      const answer = await this.#client.download(this.#path(key), { method: 'GET', signal });
      try {
        const size = lengthOf(answer.headers['content-length']);
        if (size === undefined) throw damagedInTransit(this.location, key);
        if (size > bytesMax) throw tooLarge(this.location, key, size, bytesMax);
        const bytes = await collect(answer, size, signal);
        if (!bytes || !isHashOf(bytes, answer.headers['x-goog-hash'])) throw damagedInTransit(this.location, key);
        return bytes;
      } finally {
        if (!answer.complete) answer.destroy();
      }
    });
  }

  async getRange(key: string, offset: number, length: number, options?: CallOptions): Promise<Uint8Array> {
    const headers = { range: `bytes=${offset}-${offset + length - 1}` };
    return this.#attempt(key, options?.signal, async (signal) => {
      const call = this.#client.download(this.#path(key), { method: 'GET', headers, signal });
      const answer = await call.catch((error) => {
        throw statusOf(error) === 416 ? objectTooShort(this.location, key, offset, length) : error;
      });
      try {
        const total = lengthOf(answer.headers['content-range']?.split('/')[1]);
        if (total !== undefined && total < offset + length) throw objectTooShort(this.location, key, offset, length);
        if (answer.statusCode !== 206) throw damagedInTransit(this.location, key);
        const bytes = await collect(answer, length, signal);
        if (!bytes) throw damagedInTransit(this.location, key);
        return bytes;
      } finally {
        if (!answer.complete) answer.destroy();
      }
    });
  }

  async head(key: string, options?: CallOptions): Promise<BlobInfo | undefined> {
    const object = await this.#describe(key, options);
    const { protectedUntil } = object ?? {};
    return object && { ...this.#info(key, object), ...(protectedUntil && { lockedUntil: protectedUntil }) };
  }

  async *list(prefix: string, options?: ListOptions): AsyncGenerator<BlobInfo> {
    const after = options?.startAfter;
    for await (const object of this.#objects(this.#prefix + prefix, options?.signal, {
      ...(after !== undefined && { startOffset: this.#prefix + after }),
    })) {
      throwIfCancelled(options?.signal);
      if (!object.name.startsWith(this.#prefix)) throw unexpectedName(this.location, prefix);
      const key = object.name.slice(this.#prefix.length);
      if (key !== after) yield this.#info(key, object);
    }
  }

  async delete(keys: readonly string[], options: DeleteOptions = {}): Promise<Removal> {
    const { signal, purge = false } = options;
    const keepsVersions = await this.#keepsVersions(signal);
    const kept = new Set<string>();
    await forEachLimited(keys, async (key) => {
      if (!(await this.#remove(key, undefined, signal))) kept.add(key);
      else if (keepsVersions && purge)
        for (const generation of await this.#versionsOf(key, signal))
          if (!(await this.#remove(key, generation, signal))) kept.add(key);
    });
    if (kept.size > 0) throw locked(this.location, [...kept].sort());
    return { versionsKept: keepsVersions && !purge, bucketKeepsVersions: keepsVersions };
  }

  async *listHidden(prefix: string, options: ListOptions = {}): AsyncGenerator<HiddenObject> {
    const { signal, startAfter } = options;
    const from = startAfter === undefined ? {} : { startOffset: this.#prefix + startAfter };
    const entries = this.#entries(this.#prefix + prefix, signal, from);
    for await (const object of hiddenAmong(entries, { location: this.location, needsMarker: false })) {
      if (!object.key.startsWith(this.#prefix)) throw unexpectedName(this.location, prefix);
      const key = object.key.slice(this.#prefix.length);
      if (key !== startAfter) yield { ...object, key };
    }
  }

  /** A former version never becomes current again, so an object that comes back meanwhile is safe. */
  async purgeHidden(objects: readonly HiddenObject[], options: PurgeOptions = {}): Promise<PurgeOutcome> {
    const { signal, dryRun = false } = options;
    const count = new PurgeCount();
    await forEachLimited(objects, async (object) => {
      const { key, versions } = object;
      if (await this.#describePatiently(key, options)) return void count.returnedKeys.push(key);
      const staying = new Set<string>();
      for (const { id } of versions) {
        const isFree = dryRun ? !(await this.#isLocked(key, id, options)) : await this.#remove(key, id, signal);
        if (!isFree) staying.add(id);
      }
      count.add(object, ({ id }) => staying.has(id));
    });
    return count;
  }

  async extendLock(keys: readonly string[], lock: ObjectLock, options?: CallOptions): Promise<void> {
    const refused: string[] = [];
    await forEachLimited(keys, async (key) => {
      const until = (await this.#describe(key, options))?.retainedUntil;
      if (until !== undefined && until >= lock.retainUntil) return;
      const body = [Buffer.from(JSON.stringify(retentionOf({ lock })))];
      const headers = { 'content-type': 'application/json' };
      try {
        await this.#attempt(key, options?.signal, (signal) =>
          this.#client.run(this.#path(key), { method: 'PATCH', headers, body, signal }),
        );
      } catch (error) {
        if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
        refused.push(key);
      }
    });
    if (refused.length > 0) throw locked(this.location, refused.sort());
  }

  async lockAbility(options?: CallOptions): Promise<LockAbility> {
    try {
      return readLockAbility(await this.#describeBucket('objectRetention', options?.signal), this.location);
    } catch (error) {
      const isForbidden = error instanceof AttemptError && error.details.status === 403;
      throw isForbidden ? lockPermissionMissing(this.location, 'storage.buckets.get', error) : error;
    }
  }

  async holds(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo | undefined> {
    const object = await this.#describe(key, options);
    if (!object || object.size !== bytes.length || object.md5Hash !== md5Of(bytes)) return undefined;
    const until = options?.lock?.retainUntil;
    if (until && !(object.retainedUntil !== undefined && object.retainedUntil >= until)) return undefined;
    return this.#info(key, object);
  }

  async close(): Promise<void> {
    this.#client.close();
  }

  #path(key: string): string {
    return `${this.#bucketPath}/o/${encodeURIComponent(this.#prefix + key)}`;
  }

  /** Pages of the objects with this prefix. Ends a listing that goes on for ever without a new name. */
  async *#objects(
    prefix: string,
    signal: AbortSignal | undefined,
    more: { startOffset?: string; versions?: string },
  ): AsyncGenerator<ObjectResource> {
    const fields = `items(${objectFields}),nextPageToken`;
    const question = { prefix, maxResults: pageObjectsMax, fields, ...more };
    let pageToken: string | undefined;
    const pages = new PageCount(this.location, prefix);
    do {
      const query = { ...question, pageToken };
      const page = await this.#attempt(prefix, signal, async (late) =>
        readPage(await this.#client.json(`${this.#bucketPath}/o`, { method: 'GET', query, signal: late })),
      );
      yield* page.objects;
      if (page.nextPageToken !== undefined) pages.add(page.objects.length);
      if (pageToken !== undefined && page.nextPageToken === pageToken)
        throw listingDoesNotAdvance(this.location, prefix);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  async *#entries(prefix: string, signal: AbortSignal | undefined, from: { startOffset?: string }) {
    for await (const { name, generation, size, isFormer } of this.#objects(prefix, signal, {
      ...from,
      versions: 'true',
    }))
      yield { key: name, id: generation, size, isMarker: false, isCurrent: !isFormer };
  }

  async #isLocked(key: string, generation: string, options: CallOptions): Promise<boolean> {
    const version = await this.#describePatiently(key, options, generation);
    if (!version) return false;
    return version.isHeld || (version.protectedUntil !== undefined && version.protectedUntil > this.#now());
  }

  /** False when the object is protected. Each is repeated on its own: there is no request that removes many. */
  async #remove(key: string, generation: string | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    const removal = (late: AbortSignal) =>
      this.#client.run(this.#path(key), { method: 'DELETE', query: { generation }, signal: late }).catch((error) => {
        if (statusOf(error) !== 404 || isMissingBucket(error)) throw error;
      });
    try {
      await retrying({ policy: this.#retryPolicy, signal }, () => this.#attempt(key, signal, removal));
      return true;
    } catch (error) {
      if (error instanceof EngineError && error.details.lockedKeys !== undefined) return false;
      throw error;
    }
  }

  /** Versions, or the days in which Google itself keeps what was deleted. Credentials that may not ask learn nothing. */
  async #keepsVersions(signal: AbortSignal | undefined): Promise<boolean> {
    try {
      const { versioning, softDeletePolicy } = Object(
        await this.#describeBucket('versioning,softDeletePolicy', signal),
      );
      return versioning?.enabled === true || Number(softDeletePolicy?.retentionDurationSeconds ?? 0) > 0;
    } catch (error) {
      if (isEngineError(error, 'STORAGE_PERMISSION_DENIED')) return false;
      throw error;
    }
  }

  #describeBucket(fields: string, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#attempt('', signal, (late) =>
      this.#client.json(this.#bucketPath, { method: 'GET', query: { fields }, signal: late }),
    );
  }

  async #versionsOf(key: string, signal: AbortSignal | undefined): Promise<string[]> {
    const name = this.#prefix + key;
    const generations: string[] = [];
    for await (const object of this.#objects(name, signal, { versions: 'true' })) {
      // Names come in order: the first one behind ends the search.
      if (object.name !== name) break;
      generations.push(object.generation);
      if (generations.length > versionsMax) throw listingDoesNotAdvance(this.location, key);
    }
    return generations;
  }

  /** One of many questions, repeated on its own. */
  #describePatiently(key: string, options: CallOptions, generation?: string): Promise<ObjectResource | undefined> {
    const { signal } = options;
    return retrying({ policy: this.#retryPolicy, signal }, () => this.#describe(key, options, generation));
  }

  async #describe(
    key: string,
    options: CallOptions | undefined,
    generation?: string,
  ): Promise<ObjectResource | undefined> {
    return this.#attempt(key, options?.signal, async (signal) => {
      try {
        const query = { fields: objectFields, generation };
        return readObject(await this.#client.json(this.#path(key), { method: 'GET', query, signal }));
      } catch (error) {
        if (statusOf(error) === 404 && !isMissingBucket(error)) return undefined;
        throw error;
      }
    });
  }

  #info(key: string, { size, generation, updated }: ObjectResource): BlobInfo {
    return { key, size, etag: generation, modifiedAt: updated };
  }

  /** One request, its errors in the port's words. */
  async #attempt<Result>(
    key: string,
    signal: AbortSignal | undefined,
    run: (signal: AbortSignal) => Promise<Result>,
    bytesToSend = 0,
  ): Promise<Result> {
    throwIfCancelled(signal);
    const late = AbortSignal.timeout(this.#callTimeoutMs);
    try {
      return await trackRequest(bytesToSend, () => run(signal ? AbortSignal.any([signal, late]) : late));
    } catch (error) {
      throwIfCancelled(signal);
      throw late.aborted ? callTimedOut(this.location, this.#callTimeoutMs) : gcsError(error, this.location, key);
    }
  }
}

function lengthOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Our etag is Google's generation: it names one writing of the object. Generation 0 means that there is none. */
function conditionsOf(options: PutOptions | undefined): { ifGenerationMatch?: number | string } {
  if (options?.ifAbsent) return { ifGenerationMatch: 0 };
  return options?.ifMatch === undefined ? {} : { ifGenerationMatch: options.ifMatch };
}

function retentionOf(options: PutOptions | undefined): object {
  if (!options?.lock) return {};
  const mode = options.lock.mode === 'compliance' ? 'Locked' : 'Unlocked';
  return { retention: { mode, retainUntilTime: options.lock.retainUntil.toISOString() } };
}
