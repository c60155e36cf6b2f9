import { newDataKey } from '../../crypto/key-ring.ts';
import { addCounts, collectionShape, otherCollections } from '../../format/collection-counter.ts';
import type { SegmentDescriptor } from '../../format/descriptor.ts';
import type { ManifestBody } from '../../format/manifest-body.ts';
import { countsOf, listCollections } from '../../format/manifest-counts.ts';
import { segmentKey } from '../../format/object-keys.ts';
import { formatVersion, segmentContent } from '../../format/segment-header.ts';
import { systemClock } from '../../ports/clock.ts';
import type { Instant } from '../../ports/instant.ts';
import { BufferPool } from '../segments/buffer-pool.ts';
import { incrementSegmentBytes, SegmentWriter, segmentBufferBytes } from '../segments/segment-writer.ts';
import type { BackupReader } from '../view/backup-reader.ts';
import type { Layer } from '../view/layer.ts';
import { mergedBatches } from '../view/sorted-runs.ts';
import { View } from '../view/view.ts';
import { type WrittenManifest, writeManifest } from './write-manifest.ts';
import type { WriteOptions } from './write-view.ts';

export interface IncrementToWrite {
  /** What it builds on, oldest first. */
  readonly chain: readonly BackupReader[];
  /** Everything that changed since the end of the chain, as a log has captured it. */
  readonly changes: readonly Layer[];
  readonly snapshotTime: Instant;
}

/** Writes captured changes as an increment: the database is not read. */
export async function writeIncrement(given: IncrementToWrite, options: WriteOptions): Promise<WrittenManifest> {
  const { chain, changes, snapshotTime } = given;
  const { store, keys, backupId, lock, signal } = options;
  const parent = chain.at(-1)!;
  const { database, scope } = parent.body;
  const clock = options.clock ?? systemClock;
  const createdAt = clock.now();
  const dataKey = newDataKey();
  const segments = await writeChanges(changes, { ...options, context: { ownerId: backupId, dataKey, database } });
  const whole = await countWhole(new View(database, [...chain, ...changes]), signal);
  const content: Omit<ManifestBody, 'segments' | 'shards'> = {
    formatVersion,
    backupId,
    type: 'incremental',
    database,
    scope,
    snapshotTime,
    createdAt,
    completedAt: clock.now(),
    parent: { backupId: parent.backupId, manifestSha256: parent.manifestSha256 },
    mergedFrom: [],
    ranges: [{ start: null, end: null, parts: [{ start: null, readTime: snapshotTime }] }],
    counts: countsOf(whole.documents, segments, []),
    collections: listCollections(whole.collections),
    collectionsTruncated: whole.collections.has(otherCollections),
    authUsers: null,
    warnings: [],
  };
  const envelope = await keys.wrap(backupId, dataKey);
  const shared = { store, ...(lock ? { lock } : {}), ...(signal ? { signal } : {}) };
  return await writeManifest(content, segments, { ...shared, dataKey, envelope });
}

async function writeChanges(
  changes: readonly Layer[],
  options: WriteOptions & { context: { ownerId: string; dataKey: Uint8Array; database: string } },
): Promise<SegmentDescriptor[]> {
  const { store, codec, backupId, context, lock, signal, onProgress } = options;
  const segments: SegmentDescriptor[] = [];
  const writer = new SegmentWriter({
    store,
    codec,
    context,
    buffers: new BufferPool(3, segmentBufferBytes),
    content: segmentContent.documents,
    range: 0,
    firstSequence: 0,
    segmentBytes: incrementSegmentBytes,
    keyOf: ({ id }) => segmentKey(backupId, id),
    onSegment: ({ descriptor }) => void segments.push(descriptor),
    ...(lock ? { lock } : {}),
    ...(signal ? { signal } : {}),
  });
  let documents = 0;
  try {
    for await (const batch of mergedBatches(changes, signal)) {
      await writer.write(batch);
      documents += batch.count;
      onProgress?.(documents);
    }
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw error;
  }
  return segments;
}

/** From the names alone, chain included. */
async function countWhole(view: View, signal: AbortSignal | undefined) {
  const collections = new Map<string, number>();
  let documents = 0;
  for await (const page of view.entries({}, signal ? { signal } : {})) {
    for (const { path } of page) addCounts(collections, [[collectionShape(path), 1]]);
    documents += page.length;
  }
  return { documents, collections };
}
