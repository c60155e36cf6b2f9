import { createHash } from 'node:crypto';
import {
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadBucketCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
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
import { isEngineError, throwIfCancelled, trackRequest } from '../../ports/index.ts';
import { minuteMs } from '../../time/durations.ts';
import {
  AttemptError,
  type AttemptStore,
  callTimedOut,
  conflict,
  damagedInTransit,
  listingDoesNotAdvance,
  noBucket,
  objectTooShort,
  tooLarge,
  unexpectedName,
} from '../attempt.ts';
import { collect } from '../collect.ts';
import { bytesMaxDefault, folderPrefix } from '../keys.ts';
import type { StoreNetwork } from '../network.ts';
import { PageCount } from '../pages.ts';
import { type RetryPolicy, retryDefault } from '../retry.ts';
import { withRetries } from '../with-retries.ts';
import { createS3Client, regionAsAddress, type S3Connection } from './client.ts';
import { removeObjects } from './delete.ts';
import { s3Error, statusOf } from './errors.ts';
import { extendLocks, lockAbility } from './locks.ts';
import { putInParts } from './multipart.ts';
import { listHidden, purgeHidden } from './versions.ts';

export interface S3StoreOptions extends S3Connection {
  bucket: string;
  /** Keys lie below this folder of the bucket. */
  prefix?: string;
  retry?: Partial<RetryPolicy>;
  /** Objects above this size go up in parts; for tests. */
  partBytes?: number;
  /** From the request to the last byte of the answer: one that trickles in ends too. */
  callTimeoutMs?: number;
  /** The answer to a put holds no time. This clock is used until the object is asked for. */
  now?: () => Date;
}

/** S3 takes parts from 5 MiB; fewer requests weigh more than finer progress. */
const partBytesDefault = 16 * 1024 * 1024;
const callTimeoutMsDefault = 2 * minuteMs;
/** How long a bucket that was found counts as existing. */
const bucketKnownMs = 10_000;
/** Our own digest travels in the object's metadata: every S3 keeps that, and a read compares it. */
export const digestMetadata = 'sha256';

export function createS3Store(options: S3StoreOptions): VersionedBlobStore {
  return withRetries(new S3Attempts(options), options.retry);
}

export class S3Attempts implements AttemptStore {
  readonly location: string;
  readonly client: S3Client;
  readonly bucket: string;
  readonly kind: 's3' | 'spaces';
  readonly retryPolicy: RetryPolicy;
  readonly #network: StoreNetwork;
  readonly #prefix: string;
  readonly #partBytes: number;
  #bucketKnownUntilMs = 0;
  readonly #callTimeoutMs: number;
  readonly #regionAsAddress: string | undefined;
  readonly now: () => Date;

  constructor(options: S3StoreOptions) {
    const { client, network } = createS3Client(options);
    this.client = client;
    this.#network = network;
    this.bucket = options.bucket;
    this.kind = options.kind;
    this.retryPolicy = { ...retryDefault, ...options.retry };
    this.#prefix = folderPrefix(options.prefix);
    this.#partBytes = options.partBytes ?? partBytesDefault;
    this.#callTimeoutMs = options.callTimeoutMs ?? callTimeoutMsDefault;
    this.#regionAsAddress = regionAsAddress(options);
    this.now = options.now ?? (() => new Date());
    this.location = `${options.kind}://${options.bucket}/${this.#prefix}`;
  }

  async put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo> {
    try {
      return await this.#put(key, bytes, options);
    } catch (error) {
      // An object that should match but does not exist is answered as not found; for the port it is a conflict.
      const isAbsent = error instanceof AttemptError && error.details.code === 'NoSuchKey';
      if (options?.ifMatch === undefined) throw error;
      if (isEngineError(error, 'STORAGE_CONFLICT') && isQuoted(options.ifMatch))
        return this.#putMatchingBare(key, bytes, options, error);
      throw isAbsent ? conflict(this.location, key, error) : error;
    }
  }

  /** Some services compare the etag literally and store it without the quotes that they show. */
  async #putMatchingBare(key: string, bytes: Uint8Array, options: PutOptions, error: unknown): Promise<BlobInfo> {
    const found = await this.#describe(key, options);
    if (found?.ETag !== options.ifMatch) throw error;
    return this.#put(key, bytes, { ...options, ifMatch: options.ifMatch!.slice(1, -1) });
  }

  async #put(key: string, bytes: Uint8Array, options: PutOptions | undefined): Promise<BlobInfo> {
    const digest = options?.sha256 ? Buffer.from(options.sha256, 'hex') : createHash('sha256').update(bytes).digest();
    const about = { ...this.address(key), Metadata: { [digestMetadata]: digest.toString('hex') }, ...lockOf(options) };
    const conditions = conditionsOf(options);
    if (bytes.length > this.#partBytes) {
      const etag = await putInParts(this, key, bytes, {
        about,
        conditions,
        partBytes: this.#partBytes,
        signal: options?.signal,
      });
      return this.#checkParts(key, { key, size: bytes.length, etag, modifiedAt: this.now() }, options);
    }
    const command = new PutObjectCommand({ ...about, ...conditions, Body: bytes, ...this.checksumOf(bytes, digest) });
    // The signature covers the body by its hash; the signer takes one that is already there.
    command.middlewareStack.add(
      (next) => (build) => {
        (build.request as { headers: Record<string, string> }).headers['x-amz-content-sha256'] = digest.toString('hex');
        return next(build);
      },
      { step: 'build', name: 'knownPayloadHash' },
    );
    const send = (call: { abortSignal: AbortSignal }) => this.client.send(command, call);
    const output = await this.attempt(key, options?.signal, send, bytes.length);
    return { key, size: bytes.length, etag: output.ETag ?? '', modifiedAt: this.now() };
  }

  /** Some services leave out the etag and the lock of an object that was uploaded in parts. */
  async #checkParts(key: string, info: BlobInfo, options: PutOptions | undefined): Promise<BlobInfo> {
    const { lock, signal } = options ?? {};
    if (info.etag !== '' && lock === undefined) return info;
    const found = await this.#describe(key, options);
    if (lock && !isLockedThrough(found, lock.retainUntil)) await extendLocks(this, [key], lock, signal);
    return { ...info, etag: found?.ETag ?? info.etag };
  }

  async get(key: string, options?: GetOptions): Promise<Uint8Array> {
    const bytesMax = options?.bytesMax ?? bytesMaxDefault;
    return this.attempt(key, options?.signal, async (call) => {
      const output = await this.client.send(new GetObjectCommand(this.address(key)), call);
      const size = output.ContentLength ?? 0;
      if (size > bytesMax) {
        discard(output);
        throw tooLarge(this.location, key, size, bytesMax);
      }
      const bytes = await this.#body(key, output, size, call.abortSignal);
      const claimed = output.Metadata?.[digestMetadata];
      if (claimed !== undefined && claimed !== createHash('sha256').update(bytes).digest('hex'))
        throw damagedInTransit(this.location, key);
      return bytes;
    });
  }

  async getRange(key: string, offset: number, length: number, options?: CallOptions): Promise<Uint8Array> {
    const Range = `bytes=${offset}-${offset + length - 1}`;
    return this.attempt(key, options?.signal, async (call) => {
      const output = await this.client
        .send(new GetObjectCommand({ ...this.address(key), Range }), call)
        .catch((error) => {
          throw statusOf(error) === 416 ? objectTooShort(this.location, key, offset, length) : error;
        });
      const total = Number(output.ContentRange?.split('/')[1] ?? output.ContentLength);
      if (total < offset + length || output.$metadata.httpStatusCode !== 206) {
        discard(output);
        throw total < offset + length
          ? objectTooShort(this.location, key, offset, length)
          : damagedInTransit(this.location, key);
      }
      return this.#body(key, output, length, call.abortSignal);
    });
  }

  async head(key: string, options?: CallOptions): Promise<BlobInfo | undefined> {
    const output = await this.#describe(key, options);
    return (
      output && {
        key,
        size: output.ContentLength ?? 0,
        etag: output.ETag ?? '',
        modifiedAt: output.LastModified ?? new Date(0),
        ...(output.ObjectLockRetainUntilDate && { lockedUntil: output.ObjectLockRetainUntilDate }),
      }
    );
  }

  async *list(prefix: string, options?: ListOptions): AsyncGenerator<BlobInfo> {
    let ContinuationToken: string | undefined;
    const pages = new PageCount(this.location, prefix);
    const StartAfter = options?.startAfter === undefined ? undefined : this.#prefix + options.startAfter;
    const Prefix = this.#prefix + prefix;
    do {
      const question = { Bucket: this.bucket, Prefix, StartAfter, ContinuationToken };
      const page = await this.attempt(prefix, options?.signal, (call) =>
        this.client.send(new ListObjectsV2Command(question), call),
      );
      for (const { Key = '', Size, ETag, LastModified } of page.Contents ?? []) {
        throwIfCancelled(options?.signal);
        if (!Key.startsWith(this.#prefix)) throw unexpectedName(this.location, prefix);
        const key = Key.slice(this.#prefix.length);
        yield { key, size: Size ?? 0, etag: ETag ?? '', modifiedAt: LastModified ?? new Date(0) };
      }
      // The answer says there is more, but not where to continue: the server knows only an older form of this call.
      if (page.IsTruncated && !page.NextContinuationToken) throw listingDoesNotAdvance(this.location, prefix);
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
      if (ContinuationToken !== undefined) pages.add(page.Contents?.length ?? 0);
    } while (ContinuationToken !== undefined);
  }

  delete(keys: readonly string[], options: DeleteOptions = {}): Promise<Removal> {
    return removeObjects(this, keys, options);
  }

  listHidden(prefix: string, options?: ListOptions): AsyncIterable<HiddenObject> {
    return listHidden(this, prefix, options);
  }

  purgeHidden(objects: readonly HiddenObject[], options?: PurgeOptions): Promise<PurgeOutcome> {
    return purgeHidden(this, objects, options);
  }

  extendLock(keys: readonly string[], lock: ObjectLock, options?: CallOptions): Promise<void> {
    return extendLocks(this, keys, lock, options?.signal);
  }

  lockAbility(options?: CallOptions): Promise<LockAbility> {
    return lockAbility(this, options?.signal);
  }

  async holds(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo | undefined> {
    const output = await this.#describe(key, options);
    if (!output || output.ContentLength !== bytes.length) return undefined;
    if (output.Metadata?.[digestMetadata] !== createHash('sha256').update(bytes).digest('hex')) return undefined;
    if (options?.lock && !isLockedThrough(output, options.lock.retainUntil)) return undefined;
    return { key, size: bytes.length, etag: output.ETag ?? '', modifiedAt: output.LastModified ?? new Date(0) };
  }

  async close(): Promise<void> {
    this.client.destroy();
    this.#network.destroy();
  }

  address(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.bucket, Key: this.#prefix + key };
  }

  /** Inverse of `address`, for answers that name objects. */
  keyOf(objectKey: string): string {
    return objectKey.slice(this.#prefix.length);
  }

  /** What lets the service refuse bytes that were damaged on their way. */
  checksumOf(bytes: Uint8Array, sha256: Buffer): { ChecksumSHA256: string } | { ContentMD5: string } {
    if (this.kind === 's3') return { ChecksumSHA256: sha256.toString('base64') };
    return { ContentMD5: createHash('md5').update(bytes).digest('base64') };
  }

  /** One request, its errors in the port's words. */
  async attempt<Result>(
    key: string,
    signal: AbortSignal | undefined,
    run: (call: { abortSignal: AbortSignal }) => Promise<Result>,
    bytesToSend = 0,
  ): Promise<Result> {
    throwIfCancelled(signal);
    const late = AbortSignal.timeout(this.#callTimeoutMs);
    try {
      const abortSignal = signal ? AbortSignal.any([signal, late]) : late;
      return await trackRequest(bytesToSend, () => run({ abortSignal }));
    } catch (error) {
      throwIfCancelled(signal);
      if (late.aborted) throw callTimedOut(this.location, this.#callTimeoutMs);
      throw s3Error(error, this.location, key, this.#regionAsAddress);
    }
  }

  async #describe(key: string, options: CallOptions | undefined): Promise<HeadObjectCommandOutput | undefined> {
    return this.attempt(key, options?.signal, async (call) => {
      try {
        return await this.client.send(new HeadObjectCommand(this.address(key)), call);
      } catch (error) {
        if (statusOf(error) !== 404) throw error;
        await this.#requireBucket(call);
        return undefined;
      }
    });
  }

  /** A HEAD answer has no body, so "no such object" means nothing until the bucket itself is known to exist. */
  async #requireBucket(call: { abortSignal?: AbortSignal }): Promise<void> {
    if (performance.now() < this.#bucketKnownUntilMs) return;
    try {
      await this.client.send(new HeadBucketCommand({ Bucket: this.bucket }), call);
    } catch (error) {
      // Who may not ask is not told that it is missing.
      if (statusOf(error) === 404) throw noBucket(this.location, 'NoSuchBucket', error);
      if (statusOf(error) !== 403) throw error;
    }
    this.#bucketKnownUntilMs = performance.now() + bucketKnownMs;
  }

  async #body(key: string, output: GetObjectCommandOutput, size: number, signal: AbortSignal): Promise<Uint8Array> {
    const body = output.Body as AsyncIterable<Uint8Array> | undefined;
    const bytes = body && (await collect(body, size, signal));
    if (bytes?.length !== size) throw damagedInTransit(this.location, key);
    return bytes;
  }
}

function conditionsOf(options: PutOptions | undefined): { IfNoneMatch?: string; IfMatch?: string } {
  return {
    ...(options?.ifAbsent && { IfNoneMatch: '*' }),
    ...(options?.ifMatch !== undefined && { IfMatch: options.ifMatch }),
  };
}

function isQuoted(etag: string): boolean {
  return etag.length > 2 && etag.startsWith('"') && etag.endsWith('"');
}

function isLockedThrough(found: HeadObjectCommandOutput | undefined, until: Date): boolean {
  const { ObjectLockRetainUntilDate: lockedUntil } = found ?? {};
  return lockedUntil !== undefined && lockedUntil >= wholeSecond(until);
}

function lockOf(options: PutOptions | undefined) {
  if (!options?.lock) return {};
  return {
    ObjectLockMode: options.lock.mode === 'compliance' ? ('COMPLIANCE' as const) : ('GOVERNANCE' as const),
    ObjectLockRetainUntilDate: options.lock.retainUntil,
  };
}

/** The protocol carries whole seconds. */
function wholeSecond(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1000) * 1000);
}

function discard(output: GetObjectCommandOutput): void {
  (output.Body as { destroy?: () => void } | undefined)?.destroy?.();
}
