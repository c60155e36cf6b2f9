import { newDataKey } from '../../crypto/key-ring.ts';
import { addCounts, collectionShape, otherCollections } from '../../format/collection-counter.ts';
import type { ManifestBody } from '../../format/manifest-body.ts';
import { countsOf, listCollections } from '../../format/manifest-counts.ts';
import { formatVersion } from '../../format/segment-header.ts';
import { systemClock } from '../../ports/clock.ts';
import type { Instant } from '../../ports/instant.ts';
import { BufferPool } from '../segments/buffer-pool.ts';
import { bufferBytesFor, incrementSegmentBytes } from '../segments/segment-writer.ts';
import type { BackupReader } from '../view/backup-reader.ts';
import type { Layer } from '../view/layer.ts';
import { mergedBatches } from '../view/sorted-runs.ts';
import { View } from '../view/view.ts';
import { originOf, type WrittenManifest, writeManifest } from './write-manifest.ts';
import { type WriteOptions, writeSegments } from './write-view.ts';

export interface IncrementToWrite {
  /** The chain it builds on, oldest first. */
  readonly chain: readonly BackupReader[];
  /** All changes since the end of the chain, as a log has captured them. */
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
  const { segments } = await writeSegments(mergedBatches(changes, signal), {
    ...options,
    context: { ownerId: backupId, dataKey, database },
    buffers: new BufferPool(3, bufferBytesFor(incrementSegmentBytes)),
    segmentBytes: incrementSegmentBytes,
  });
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
  const shared = { store, ...originOf(options), ...(lock ? { lock } : {}), ...(signal ? { signal } : {}) };
  return await writeManifest(content, segments, { ...shared, dataKey, envelope });
}

/** Counts documents by their names alone, chain included. */
async function countWhole(view: View, signal: AbortSignal | undefined) {
  const collections = new Map<string, number>();
  let documents = 0;
  for await (const page of view.entries({}, signal ? { signal } : {})) {
    for (const { path } of page) addCounts(collections, [[collectionShape(path), 1]]);
    documents += page.length;
  }
  return { documents, collections };
}
