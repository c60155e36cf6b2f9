import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type Bucket, CRC32C, type File, type FileMetadata, Storage } from '@google-cloud/storage';
import type {
  BlobInfo,
  BlobStore,
  CallOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ObjectLock,
  PutOptions,
  Removal,
} from '../../ports/index.ts';
import { EngineError, isEngineError, throwIfCancelled } from '../../ports/index.ts';
import { abortable } from '../abortable.ts';
import { type AttemptStore, damagedInTransit, endsBefore, locked, tooLarge } from '../attempt.ts';
import { collect } from '../collect.ts';
import { bytesMaxDefault, folderPrefix } from '../keys.ts';
import { type RetryPolicy, retryDefault, retrying } from '../retry.ts';
import { withRetries } from '../with-retries.ts';
import { authClientOf } from './auth-client.ts';
import type { GcsCredentials } from './credentials.ts';
import { gcsError, statusOf } from './errors.ts';

export interface GcsConnection {
  credentials: GcsCredentials;
  /** Needed to list buckets; taken from a service account's key when absent. */
  projectId?: string;
  /** Replaces Google's address; chosen by the operator, never by a tenant. */
  endpoint?: string;
  tokenUrl?: string;
}

export interface GcsStoreOptions extends GcsConnection {
  bucket: string;
  /** Keys lie below this folder of the bucket. */
  prefix?: string;
  retry?: Partial<RetryPolicy>;
}

const callTimeoutMs = 120_000;
const callsInFlight = 16;

export function createGcsStore(options: GcsStoreOptions): BlobStore {
  return withRetries(new GcsAttempts(options), options.retry);
}

/** A client that tries once: repeating is the business of `withRetries`, which knows what a lost answer means. */
export function createGcsClient(connection: GcsConnection): Storage {
  const { credentials, endpoint } = connection;
  const projectId = connection.projectId ?? ('projectId' in credentials ? credentials.projectId : undefined);
  return new Storage({
    authClient: authClientOf(credentials, connection.tokenUrl),
    ...(projectId !== undefined && { projectId }),
    ...(endpoint !== undefined && { apiEndpoint: endpoint, useAuthWithCustomEndpoint: true }),
    retryOptions: { autoRetry: false },
    timeout: callTimeoutMs,
  });
}

export class GcsAttempts implements AttemptStore {
  readonly location: string;
  readonly #bucket: Bucket;
  readonly #prefix: string;
  readonly #retryPolicy: RetryPolicy;

  constructor(options: GcsStoreOptions) {
    this.#bucket = createGcsClient(options).bucket(options.bucket);
    this.#prefix = folderPrefix(options.prefix);
    this.#retryPolicy = { ...retryDefault, ...options.retry };
    this.location = `gs://${options.bucket}/${this.#prefix}`;
  }

  async put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo> {
    return this.#attempt(key, options?.signal, async () => {
      const file = this.#file(key);
      const stream = file.createWriteStream({
        // One request, whole or not at all: our objects are some MiB, and a repeated request is simpler than a session.
        resumable: false,
        validation: false,
        timeout: callTimeoutMs,
        metadata: {
          contentType: 'application/octet-stream',
          md5Hash: md5Of(bytes),
          ...retentionOf(options),
        } as FileMetadata,
        preconditionOpts: conditionsOf(options),
      });
      const finished = once(stream, 'finish');
      stream.end(bytes);
      await abortable(finished, options?.signal, () => stream.destroy());
      return this.#info(key, file.metadata);
    });
  }

  async get(key: string, options?: GetOptions): Promise<Uint8Array> {
    const bytesMax = options?.bytesMax ?? bytesMaxDefault;
    return this.#attempt(key, options?.signal, async () => {
      const { bytes, hashes } = await this.#download(key, options?.signal, (size) => {
        if (size > bytesMax) throw tooLarge(this.location, key, size, bytesMax);
        return size;
      });
      const isRight = hashes.md5 !== undefined ? md5Of(bytes) === hashes.md5 : crc32cOf(bytes) === hashes.crc32c;
      if (!isRight) throw damagedInTransit(this.location, key);
      return bytes;
    });
  }

  async getRange(key: string, offset: number, length: number, options?: CallOptions): Promise<Uint8Array> {
    const range = { start: offset, end: offset + length - 1 };
    return this.#attempt(key, options?.signal, async () => {
      const check = (_: number, total: number | undefined) => {
        if (total !== undefined && total < offset + length) throw endsBefore(this.location, key, offset, length);
        return length;
      };
      const { bytes } = await this.#download(key, options?.signal, check, range).catch((error) => {
        throw statusOf(error) === 416 ? endsBefore(this.location, key, offset, length) : error;
      });
      return bytes;
    });
  }

  async head(key: string, options?: CallOptions): Promise<BlobInfo | undefined> {
    const metadata = await this.#describe(key, options);
    return metadata && this.#info(key, metadata);
  }

  async *list(prefix: string, options?: ListOptions): AsyncGenerator<BlobInfo> {
    const after = options?.startAfter;
    let query: object | null = {
      prefix: this.#prefix + prefix,
      autoPaginate: false,
      maxResults: 1000,
      ...(after !== undefined && { startOffset: this.#prefix + after }),
    };
    while (query) {
      const page: object = query;
      const [files, next] = await this.#attempt(prefix, options?.signal, () =>
        abortable(this.#bucket.getFiles(page), options?.signal),
      );
      for (const file of files) {
        throwIfCancelled(options?.signal);
        const key = file.name.slice(this.#prefix.length);
        if (key !== after) yield this.#info(key, file.metadata);
      }
      query = next;
    }
  }

  async delete(keys: readonly string[], options: DeleteOptions = {}): Promise<Removal> {
    const { signal, purge = false } = options;
    const keepsVersions = await this.#keepsVersions(signal);
    const kept: string[] = [];
    await forEach(keys, async (key) => {
      if (!(await this.#remove(this.#file(key), key, signal))) kept.push(key);
      else if (keepsVersions && purge)
        for (const version of await this.#versionsOf(key, signal))
          if (!(await this.#remove(version, key, signal))) kept.push(key);
    });
    if (kept.length > 0) throw locked(this.location, [...new Set(kept)].sort());
    return { versionsKept: keepsVersions && !purge };
  }

  async extendLock(keys: readonly string[], lock: ObjectLock, options?: CallOptions): Promise<void> {
    const signal = options?.signal;
    const refused: string[] = [];
    await forEach(keys, async (key) => {
      const until = retainedUntil(await this.#describe(key, options));
      if (until !== undefined && until >= lock.retainUntil) return;
      try {
        const change = retentionOf({ lock }) as FileMetadata;
        await this.#attempt(key, signal, () => abortable(this.#file(key).setMetadata(change), signal));
      } catch (error) {
        if (!isEngineError(error, 'STORAGE_PERMISSION_DENIED')) throw error;
        refused.push(key);
      }
    });
    if (refused.length > 0) throw locked(this.location, refused.sort());
  }

  async holds(key: string, bytes: Uint8Array, options?: PutOptions): Promise<BlobInfo | undefined> {
    const metadata = await this.#describe(key, options);
    if (!metadata || Number(metadata.size) !== bytes.length || metadata.md5Hash !== md5Of(bytes)) return undefined;
    const until = options?.lock?.retainUntil;
    const actual = retainedUntil(metadata);
    if (until && !(actual !== undefined && actual >= until)) return undefined;
    return this.#info(key, metadata);
  }

  async close(): Promise<void> {}

  #file(key: string): File {
    return this.#bucket.file(this.#prefix + key);
  }

  /** False when the object is protected. Each is repeated on its own: there is no request that removes many. */
  async #remove(file: File, key: string, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await retrying({ policy: this.#retryPolicy, signal }, () =>
        this.#attempt(key, signal, () => abortable(file.delete({ ignoreNotFound: true }), signal)),
      );
      return true;
    } catch (error) {
      if (error instanceof EngineError && error.details.lockedKeys !== undefined) return false;
      throw error;
    }
  }

  /** Versions, or the days in which Google itself keeps what was deleted. Credentials that may not ask learn nothing. */
  async #keepsVersions(signal: AbortSignal | undefined): Promise<boolean> {
    try {
      const [{ versioning, softDeletePolicy }] = await this.#attempt('', signal, () =>
        abortable(this.#bucket.getMetadata(), signal),
      );
      return versioning?.enabled === true || Number(softDeletePolicy?.retentionDurationSeconds ?? 0) > 0;
    } catch (error) {
      if (isEngineError(error, 'STORAGE_PERMISSION_DENIED')) return false;
      throw error;
    }
  }

  async #versionsOf(key: string, signal: AbortSignal | undefined): Promise<File[]> {
    const name = this.#prefix + key;
    const [files] = await this.#attempt(key, signal, () =>
      abortable(this.#bucket.getFiles({ prefix: name, versions: true }), signal),
    );
    const versions = files.filter((file) => file.name === name);
    return versions.map((file) => this.#bucket.file(name, { generation: file.metadata.generation ?? '' }));
  }

  async #describe(key: string, options: CallOptions | undefined): Promise<FileMetadata | undefined> {
    return this.#attempt(key, options?.signal, async () => {
      try {
        return (await abortable(this.#file(key).getMetadata(), options?.signal))[0];
      } catch (error) {
        if (statusOf(error) === 404 && !/bucket does not exist/i.test(String(error))) return undefined;
        throw error;
      }
    });
  }

  /** `plan` sees the size that comes and the whole object's, and says how many bytes to expect, or throws. */
  async #download(
    key: string,
    signal: AbortSignal | undefined,
    plan: (size: number, total: number | undefined) => number,
    range: { start?: number; end?: number } = {},
  ): Promise<{ bytes: Uint8Array; hashes: { md5?: string; crc32c?: string } }> {
    const stream = this.#file(key).createReadStream({ validation: false, decompress: false, ...range });
    try {
      const answered = once(stream, 'response') as Promise<[{ headers: Record<string, string | undefined> }]>;
      // The client sends the request when somebody begins to read.
      stream.read(0);
      const [{ headers }] = await abortable(answered, signal);
      const total = headers['content-range']?.split('/')[1] ?? headers['x-goog-stored-content-length'];
      const size = plan(Number(headers['content-length']), total === undefined ? undefined : Number(total));
      const bytes = await collect(stream, size, signal);
      if (!bytes) throw damagedInTransit(this.location, key);
      return { bytes, hashes: parseHashes(headers['x-goog-hash']) };
    } finally {
      stream.on('error', () => {});
      stream.destroy();
    }
  }

  #info(key: string, metadata: FileMetadata): BlobInfo {
    const { size, generation, updated } = metadata;
    return { key, size: Number(size), etag: String(generation), modifiedAt: new Date(updated ?? 0) };
  }

  async #attempt<Result>(key: string, signal: AbortSignal | undefined, run: () => Promise<Result>): Promise<Result> {
    throwIfCancelled(signal);
    try {
      return await run();
    } catch (error) {
      throwIfCancelled(signal);
      throw gcsError(error, this.location, key);
    }
  }
}

function md5Of(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64');
}

/** Slow, and only for objects that were composed by others: those have no MD5. */
function crc32cOf(bytes: Uint8Array): string {
  const crc32c = new CRC32C();
  crc32c.update(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return crc32c.toString();
}

function parseHashes(header: string | undefined): { md5?: string; crc32c?: string } {
  const hashes: Record<string, string> = {};
  for (const pair of (header ?? '').split(',')) {
    const equals = pair.indexOf('=');
    if (equals > 0) hashes[pair.slice(0, equals).trim()] = pair.slice(equals + 1);
  }
  return hashes;
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

function retainedUntil(metadata: FileMetadata | undefined): Date | undefined {
  const time = (metadata as { retention?: { retainUntilTime?: string } } | undefined)?.retention?.retainUntilTime;
  return time === undefined ? undefined : new Date(time);
}

async function forEach(keys: readonly string[], run: (key: string) => Promise<void>): Promise<void> {
  const queue = new Set(keys).values();
  const work = async () => {
    for (const key of queue) await run(key);
  };
  await Promise.all(Array.from({ length: Math.min(callsInFlight, keys.length) }, work));
}
