import { type KeyRing, newDataKey } from '../../crypto/key-ring.ts';
import { addCounts, otherCollections } from '../../format/collection-counter.ts';
import type { SegmentDescriptor } from '../../format/descriptor.ts';
import type { BackupType, ManifestBody } from '../../format/manifest-body.ts';
import { countsOf, listCollections } from '../../format/manifest-counts.ts';
import { segmentKey } from '../../format/object-keys.ts';
import { formatVersion, segmentContent } from '../../format/segment-header.ts';
import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';
import { type Clock, systemClock } from '../../ports/clock.ts';
import { type Scope, wholeDatabase } from '../../ports/document-source.ts';
import { EngineError } from '../../ports/errors.ts';
import type { Instant } from '../../ports/instant.ts';
import type { RecordBatch } from '../../ports/record.ts';
import { BufferPool } from '../segments/buffer-pool.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import { bufferBytesFor, fullSegmentBytes, SegmentWriter } from '../segments/segment-writer.ts';
import type { BackupReader } from '../view/backup-reader.ts';
import { viewOfChain } from '../view/open-view.ts';
import { backUpUsers, readUsers } from './auth-user-segments.ts';
import { originOf, type WrittenManifest, writeManifest } from './write-manifest.ts';

export interface WriteOptions {
  readonly store: BlobStore;
  readonly keys: KeyRing;
  readonly codec: SegmentCodec;
  readonly backupId: string;
  readonly clock?: Clock;
  readonly segmentBytes?: number;
  readonly trigger?: string;
  readonly log?: ManifestBody['log'];
  readonly lock?: NonNullable<PutOptions['lock']>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (documents: number) => void;
}

export interface ViewToWrite {
  readonly database: string;
  readonly records: AsyncIterable<RecordBatch>;
  readonly type: Exclude<BackupType, 'incremental'>;
  readonly snapshotTime: Instant;
  readonly scope?: Scope;
  readonly mergedFrom?: readonly string[];
  readonly usersFrom?: BackupReader;
  readonly warnings?: readonly string[];
  readonly importedFrom?: string | undefined;
  /** The expected number of documents; with another number nothing is written. */
  readonly documents?: number;
}

const buffersInUse = 5;

/** Writes any sorted stream of puts as a full backup: a merged chain, an instant of a log, an import. */
export async function writeViewAsBackup(given: ViewToWrite, options: WriteOptions): Promise<WrittenManifest> {
  const { store, keys, codec, backupId, signal, lock } = options;
  const clock = options.clock ?? systemClock;
  const createdAt = clock.now();
  const dataKey = newDataKey();
  const context = { ownerId: backupId, dataKey, database: given.database };
  const buffers = new BufferPool(buffersInUse, bufferBytesFor(options.segmentBytes ?? fullSegmentBytes));
  const shared = { store, ...(lock ? { lock } : {}), ...(signal ? { signal } : {}) };
  const { segments, collections } = await writeSegments(given.records, { ...options, ...shared, context, buffers });
  const users = given.usersFrom && (await copyUsers(given.usersFrom, { ...shared, codec, buffers, context }));
  const documents = segments.reduce((sum, { puts }) => sum + puts, 0);
  if (given.documents !== undefined && documents !== given.documents)
    throw new EngineError(
      'INTEGRITY_ERROR',
      `The chain says it holds ${given.documents} documents; ${documents} were read.`,
    );
  const content: Omit<ManifestBody, 'segments' | 'shards'> = {
    formatVersion,
    backupId,
    type: given.type,
    database: given.database,
    scope: given.scope ?? wholeDatabase,
    snapshotTime: given.snapshotTime,
    createdAt,
    completedAt: clock.now(),
    parent: null,
    mergedFrom: given.mergedFrom ?? [],
    ranges: [{ start: null, end: null, parts: [{ start: null, readTime: given.snapshotTime }] }],
    counts: countsOf(documents, segments, users?.segments ?? []),
    collections: listCollections(collections),
    collectionsTruncated: collections.has(otherCollections),
    authUsers: users ?? null,
    warnings: given.warnings ?? [],
    ...(given.importedFrom === undefined ? {} : { importedFrom: given.importedFrom }),
  };
  const envelope = await keys.wrap(backupId, dataKey);
  return await writeManifest(content, segments, { ...shared, ...originOf(options), dataKey, envelope });
}

export interface SegmentsOptions extends WriteOptions {
  readonly context: { readonly ownerId: string; readonly dataKey: Uint8Array; readonly database: string };
  readonly buffers: BufferPool;
}

/** Writes records in order as segments of a backup, and counts documents per collection. */
export async function writeSegments(
  records: AsyncIterable<RecordBatch>,
  { store, codec, backupId, context, buffers, segmentBytes, lock, signal, onProgress }: SegmentsOptions,
): Promise<{ segments: SegmentDescriptor[]; collections: Map<string, number> }> {
  const segments: SegmentDescriptor[] = [];
  const collections = new Map<string, number>();
  const writer = new SegmentWriter({
    store,
    codec,
    buffers,
    context,
    content: segmentContent.documents,
    range: 0,
    firstSequence: 0,
    segmentBytes: segmentBytes ?? fullSegmentBytes,
    keyOf: ({ id }) => segmentKey(backupId, id),
    onSegment: (segment) => {
      segments.push(segment.descriptor);
      addCounts(collections, segment.collections);
    },
    ...(lock ? { lock } : {}),
    ...(signal ? { signal } : {}),
  });
  try {
    let documents = 0;
    for await (const batch of records) {
      await writer.write(batch);
      documents += batch.count;
      onProgress?.(documents);
    }
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw error;
  }
  return { segments, collections };
}

async function copyUsers(
  from: BackupReader,
  options: Parameters<typeof backUpUsers>[1],
): Promise<ManifestBody['authUsers']> {
  const section = from.body.authUsers;
  if (section === null) return null;
  const source = {
    hashConfiguration: async () => section.hashConfiguration,
    users: () => readUsers(from, options.signal),
  };
  return (await backUpUsers(source, options)).section;
}

/** Merges a chain into a full backup without reading the database again. */
export async function mergeChain(chain: readonly BackupReader[], options: WriteOptions): Promise<WrittenManifest> {
  const newest = chain.at(-1)!;
  const view = viewOfChain(chain);
  const written: ViewToWrite = {
    database: newest.body.database,
    records: view.records({}, options.signal ? { signal: options.signal } : {}),
    type: 'synthetic',
    snapshotTime: newest.body.snapshotTime,
    scope: newest.body.scope,
    mergedFrom: chain.map(({ backupId }) => backupId),
    usersFrom: newest,
    warnings: newest.body.warnings,
    importedFrom: newest.body.importedFrom,
    documents: newest.body.counts.documents,
  };
  const { log } = newest.body;
  return await writeViewAsBackup(written, { ...options, ...(log === undefined ? {} : { log }) });
}
