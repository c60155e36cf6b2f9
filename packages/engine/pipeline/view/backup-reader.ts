import { sha256 } from '../../crypto/block.ts';
import type { Envelope } from '../../crypto/envelope.ts';
import type { KeyRing } from '../../crypto/key-ring.ts';
import { parseDescriptor, type SegmentDescriptor } from '../../format/descriptor.ts';
import { type ManifestBody, parseManifestBody, type ShardDescriptor } from '../../format/manifest-body.ts';
import { ManifestObject, manifestContent } from '../../format/manifest-object.ts';
import { manifestKey, segmentKey, shardKey } from '../../format/object-keys.ts';
import type { OpenedSegment, SealContext } from '../../format/segment.ts';
import { freeBytes } from '../../memory/free-bytes.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import { EngineError, isEngineError } from '../../ports/errors.ts';
import { comparePaths } from '../../ports/path-order.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import type { Layer } from './layer.ts';
import { mayHold, type Selection } from './selection.ts';

export interface OpenBackupOptions {
  readonly store: BlobStore;
  /**
   * Stores with further copies of the same objects. They are asked when an object in the first store is missing or
   * damaged.
   */
  readonly otherStores?: readonly BlobStore[];
  readonly backupId: string;
  readonly keys: KeyRing;
  readonly codec: SegmentCodec;
  readonly signal?: AbortSignal;
}

/** Root manifests of large backups hold only shards, so ours are far smaller than this. */
const manifestBytesMax = 32 * 1024 * 1024;
const shardsCachedMax = 4;

/** One backup, opened: its manifest checked, its segments at hand. */
export class BackupReader implements Layer {
  /** The store of its manifest; other objects are looked up there first. */
  readonly store: BlobStore;
  readonly body: ManifestBody;
  /** The manifest's identity, which an increment names as its parent. */
  readonly manifestSha256: string;
  readonly context: SealContext;
  /** The wrapped data key as the manifest holds it. */
  readonly envelope: Envelope;
  readonly #codec: SegmentCodec;
  readonly #stores: readonly BlobStore[];
  readonly #shards = new Map<string, Promise<readonly SegmentDescriptor[]>>();

  private constructor(
    stores: readonly [BlobStore, ...BlobStore[]],
    codec: SegmentCodec,
    body: ManifestBody,
    manifestSha256: string,
    context: SealContext,
    envelope: Envelope,
  ) {
    this.store = stores[0];
    this.#stores = stores;
    this.#codec = codec;
    this.body = body;
    this.manifestSha256 = manifestSha256;
    this.context = context;
    this.envelope = envelope;
  }

  static async open(options: OpenBackupOptions): Promise<BackupReader> {
    const { store, otherStores = [] } = options;
    return await fromAny([store, ...otherStores], (one) => BackupReader.#openOnce(one, options));
  }

  static async #openOnce(from: BlobStore, options: OpenBackupOptions): Promise<BackupReader> {
    const { store, otherStores = [], backupId, keys, codec, signal } = options;
    const bytes = await from.get(manifestKey(backupId), { bytesMax: manifestBytesMax, ...(signal ? { signal } : {}) });
    const object = new ManifestObject(bytes);
    const clear = object.clear();
    if (object.content !== manifestContent.root || clear.ownerId !== backupId)
      throw damaged(backupId, 'belongs to another backup');
    const dataKey = await keys.unwrap(backupId, clear.envelope);
    const body = parseManifestBody(await object.open(backupId, dataKey));
    if (body.backupId !== backupId || body.createdAt !== clear.createdAt)
      throw damaged(backupId, 'contradicts its head');
    assertOrdered(backupId, body.segments);
    const context = { ownerId: backupId, dataKey, database: body.database };
    // A store that is away is not asked first for every segment, each time with all its retries.
    const stores = [from, ...[store, ...otherStores].filter((one) => one !== from)] as const;
    return new BackupReader(stores, codec, body, await object.bodySha256(), context, clear.envelope);
  }

  get backupId(): string {
    return this.body.backupId;
  }

  async *descriptors(selection: Selection): AsyncGenerator<SegmentDescriptor> {
    for (const descriptor of this.body.segments) {
      if (mayHold(selection, descriptor.firstPath, descriptor.lastPath)) yield descriptor;
    }
    for (const shard of this.body.shards) {
      if (!mayHold(selection, shard.firstPath, shard.lastPath)) continue;
      for (const descriptor of await this.#shard(shard)) {
        if (mayHold(selection, descriptor.firstPath, descriptor.lastPath)) yield descriptor;
      }
    }
  }

  async read(descriptor: SegmentDescriptor, signal?: AbortSignal): Promise<OpenedSegment> {
    return await fromAny(this.#stores, (store) => this.#readFrom(store, descriptor, signal));
  }

  async #readFrom(store: BlobStore, descriptor: SegmentDescriptor, signal?: AbortSignal): Promise<OpenedSegment> {
    const bytes = await this.#present(store.get(segmentKey(this.backupId, descriptor.id), signal ? { signal } : {}));
    const opened = await this.#codec.open(bytes, descriptor, this.context);
    freeBytes(bytes);
    return opened;
  }

  async readIndex(descriptor: SegmentDescriptor, signal?: AbortSignal): Promise<Uint8Array> {
    return await fromAny(this.#stores, (store) => this.#readIndexFrom(store, descriptor, signal));
  }

  async #readIndexFrom(store: BlobStore, descriptor: SegmentDescriptor, signal?: AbortSignal): Promise<Uint8Array> {
    const length = descriptor.headerBytes + descriptor.indexBytes;
    const key = segmentKey(this.backupId, descriptor.id);
    const options = signal ? { signal } : {};
    const open = (bytes: Uint8Array) => this.#codec.openIndex(bytes.subarray(0, length), descriptor, this.context);
    try {
      return await open(await this.#present(store.getRange(key, 0, length, options)));
    } catch (error) {
      if (!isEngineError(error, 'INTEGRITY_ERROR')) throw error;
      // Stores have checksums only of whole objects. Reading the whole object tells damage in transit from damage at
      // rest.
      return await open(await this.#present(store.get(key, options)));
    }
  }

  /** A missing object is a damaged backup, not a missing backup. */
  async #present(reading: Promise<Uint8Array>): Promise<Uint8Array> {
    return await reading.catch((error: unknown) => {
      if (isEngineError(error, 'STORAGE_NOT_FOUND')) throw damaged(this.backupId, 'misses an object');
      throw error;
    });
  }

  #shard(shard: ShardDescriptor): Promise<readonly SegmentDescriptor[]> {
    const cached = this.#shards.get(shard.id);
    if (cached !== undefined) return cached;
    const loading = fromAny(this.#stores, (store) => this.#loadShard(store, shard));
    const oldest = this.#shards.keys().next().value;
    if (this.#shards.size >= shardsCachedMax && oldest !== undefined) this.#shards.delete(oldest);
    this.#shards.set(shard.id, loading);
    loading.catch(() => this.#shards.delete(shard.id));
    return loading;
  }

  async #loadShard(store: BlobStore, shard: ShardDescriptor): Promise<readonly SegmentDescriptor[]> {
    const bytes = await this.#present(store.get(shardKey(this.backupId, shard.id)));
    if ((await sha256(bytes)) !== shard.sha256) throw damaged(this.backupId, `has a changed shard ${shard.id}`);
    const object = new ManifestObject(bytes);
    if (object.content !== manifestContent.shard || object.objectId !== shard.id)
      throw damaged(this.backupId, 'has a foreign shard');
    const { segments } = (await object.open(this.backupId, this.context.dataKey)) as { segments: SegmentDescriptor[] };
    for (const descriptor of segments) parseDescriptor(descriptor);
    assertOrdered(this.backupId, segments);
    const isTheOne = segments.length === shard.segments && segments[0]?.firstPath === shard.firstPath;
    if (!isTheOne || segments.at(-1)?.lastPath !== shard.lastPath)
      throw damaged(this.backupId, 'has a shard of other content');
    return segments;
  }
}

/** Reads a second time what does not open, because bytes damaged in transit are not damage at rest. */
async function onceMore<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (!isEngineError(error, 'INTEGRITY_ERROR') && !isEngineError(error, 'DECRYPTION_ERROR')) throw error;
    return await read();
  }
}

/** Reads from the first store that can give it. When none can, throws the error of the first one. */
async function fromAny<Result>(
  [first, ...others]: readonly BlobStore[],
  read: (store: BlobStore) => Promise<Result>,
): Promise<Result> {
  try {
    return await onceMore(() => read(first!));
  } catch (error) {
    if (!isEngineError(error) || isEngineError(error, 'CANCELLED')) throw error;
    for (const store of others) {
      const found = await onceMore(() => read(store)).then(
        (result) => ({ result }),
        (reason: unknown) => {
          if (!isEngineError(reason) || isEngineError(reason, 'CANCELLED')) throw reason;
        },
      );
      if (found) return found.result;
    }
    throw error;
  }
}

/** Throws unless the segments ascend, are disjoint, and are numbered without gaps in each range. */
export function assertOrdered(backupId: string, segments: readonly SegmentDescriptor[]): void {
  for (const [index, { range, sequence, firstPath, lastPath }] of segments.entries()) {
    const previous = segments[index - 1];
    const follows =
      previous === undefined ||
      (comparePaths(previous.lastPath, firstPath) < 0 &&
        (range === previous.range ? sequence === previous.sequence + 1 : range > previous.range && sequence === 0));
    if (!follows || comparePaths(firstPath, lastPath) > 0) throw damaged(backupId, `has segment ${index} out of order`);
  }
}

function damaged(backupId: string, how: string): EngineError {
  return new EngineError('INTEGRITY_ERROR', `Backup ${backupId} ${how}.`, { details: { backupId } });
}
