/**
 * Where backups lie: keys to immutable bytes. Keys are slash-separated, without leading slash, at most 900 bytes, made
 * of [A-Za-z0-9._/-]. One suite in conformance/ is mandatory for every implementation.
 *
 * Obligations of every implementation:
 * - put is atomic and durable: when it resolves the object is whole and survives a crash; a reader never sees half of it.
 * - put verifies what arrived (checksum sent along or compared afterwards): corruption on the way is an error.
 * - Every call retries what may pass (throttling, lost connections) with jitter inside a budget, then throws an
 *   EngineError: STORAGE_UNAVAILABLE, STORAGE_PERMISSION_DENIED, STORAGE_UPLOAD_ERROR, STORAGE_NOT_FOUND or
 *   STORAGE_CONFLICT. A lost acknowledgement never makes a duplicate or a hole; in particular a conditional put whose
 *   first attempt had been stored succeeds although its repetition meets the object.
 * - A read is never shorter than asked: a truncated body is an error that was retried. Its bytes are the caller's alone.
 * - Calls honour the signal promptly and then throw CANCELLED.
 */
export interface BlobStore {
  /** Names the place for people and logs, without credentials: `s3://bucket/prefix`. */
  readonly location: string;

  /** Replaces silently unless options say otherwise. */
  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo>;

  /**
   * The whole object, as bytes that belong to the caller. STORAGE_NOT_FOUND when it does not exist; VALIDATION_ERROR
   * when it is larger than bytesMax.
   */
  get(key: string, options?: GetOptions): Promise<Uint8Array>;

  /** Exactly `length` bytes from `offset`; INTEGRITY_ERROR when the object ends before. */
  getRange(key: string, offset: number, length: number, options?: CallOptions): Promise<Uint8Array>;

  /** Undefined when there is no such object. */
  head(key: string, options?: CallOptions): Promise<BlobInfo | undefined>;

  /** Every object whose key starts with the prefix, ascending by key (bytes), pages fetched as they are consumed. */
  list(prefix: string, options?: ListOptions): AsyncIterable<BlobInfo>;

  /**
   * Removes objects; missing keys are no error. Locked objects stay: STORAGE_PERMISSION_DENIED names them. In a bucket
   * that keeps versions, an object is only hidden and can be brought back, and the result says so; `purge` removes its
   * versions too.
   */
  delete(keys: readonly string[], options?: DeleteOptions): Promise<Removal>;

  /** Extends the locks of existing objects; a lock that lasts longer stays as it is. Never shortens. */
  extendLock(keys: readonly string[], lock: ObjectLock, options?: CallOptions): Promise<void>;

  /**
   * Whether a put with a lock is possible, as the place itself says; nothing is written. Without the permission to ask:
   * STORAGE_PERMISSION_DENIED with the name of the permission.
   */
  lockAbility(options?: CallOptions): Promise<LockAbility>;

  /** Closes idle connections. Later calls are programmer errors. */
  close(): Promise<void>;
}

/** A store that can list what a bucket only hides, and remove it for good. */
export interface VersionedBlobStore extends BlobStore {
  /**
   * Objects below the prefix that have no current version, with everything that is left of them, ascending by key.
   * Visible objects are never included. Where no versions are kept, the list is empty.
   */
  listHidden(prefix: string, options?: ListOptions): AsyncIterable<HiddenObject>;

  /**
   * Removes these versions for good. Versions under lock or hold stay hidden and are counted; an object that has come
   * back since it was listed is left alone. Can be repeated without harm.
   */
  purgeHidden(objects: readonly HiddenObject[], options?: PurgeOptions): Promise<PurgeOutcome>;
}

export interface HiddenObject {
  readonly key: string;
  /** Its former versions, by their ids in the store. */
  readonly versions: readonly HiddenVersion[];
  /**
   * The markers that hide them, if the store has such. They are removed last: without them the newest version would be
   * visible again.
   */
  readonly markers: readonly string[];
}

export interface HiddenVersion {
  readonly id: string;
  readonly size: number;
}

export interface PurgeOptions extends CallOptions {
  /** Returns what would be removed and removes nothing. */
  readonly dryRun?: boolean;
}

export interface PurgeOutcome {
  /** Versions that were removed, or would be. */
  readonly removed: number;
  readonly bytes: number;
  /** Versions that stay because of a lock or a hold. */
  readonly locked: number;
  readonly lockedKeys: readonly string[];
  /** Objects that have a current version again. */
  readonly returnedKeys: readonly string[];
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface DeleteOptions extends CallOptions {
  /** Every version and every delete marker: nothing is left to bring back. */
  readonly purge?: boolean;
}

export interface Removal {
  /** The bucket keeps versions, so removed objects are only hidden. */
  readonly versionsKept: boolean;
  /** Whether the bucket keeps versions, if the credentials may ask. Absent where there are no buckets. */
  readonly bucketKeepsVersions?: boolean;
}

export interface ObjectLock {
  readonly mode: 'governance' | 'compliance';
  readonly retainUntil: Date;
}

/** `reason` is a sentence that says what to do. */
export type LockAbility = { readonly canLock: true } | { readonly canLock: false; readonly reason: string };

export interface GetOptions extends CallOptions {
  /** Limits the memory for objects that are not ours; 64 MiB when absent. */
  readonly bytesMax?: number;
}

export interface ListOptions extends CallOptions {
  /** Begin after this key, for paging. */
  readonly startAfter?: string;
}

export interface PutOptions extends CallOptions {
  /** STORAGE_CONFLICT when the key exists already with other bytes. */
  readonly ifAbsent?: boolean;
  /** STORAGE_CONFLICT when the object's etag is not this one. */
  readonly ifMatch?: string;
  /** Object lock: nobody can remove or replace the object before `retainUntil`. */
  readonly lock?: ObjectLock;
  /** SHA-256 of the bytes in hexadecimal, if the caller knows it; stores that need it then do not compute it. */
  readonly sha256?: string;
  /** The caller no longer needs the bytes, so a store may free them after its last read. */
  readonly isLastUse?: boolean;
}

export interface BlobInfo {
  readonly key: string;
  readonly size: number;
  /** Changes whenever the bytes do; opaque. */
  readonly etag: string;
  readonly modifiedAt: Date;
  /** Set by `head` if the place tells it: nobody can remove or replace the object before this time. */
  readonly lockedUntil?: Date;
}
