import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type BlobInfo,
  type BlobStore,
  createLocalStore,
  KeyRing,
  newDataKey,
  openView,
  SegmentCodec,
  type SegmentDescriptor,
  segmentKey,
  storedBytesOf,
  wholeDatabase,
  writeManifest,
} from '@holdfast/engine';
import { StoreCounter } from '../counting-store.ts';
import { type Bench, figure } from '../figure.ts';

const segmentsCount = 500_000;
const segmentStoredBytes = 2_000_000;
const recordsPerSegment = 10_000;
const manifestBytesMax = 100 * 2 ** 20;
const backupId = 'scale-manifest';
const database = 'projects/bench/databases/(default)';
const instant = '2026-01-01T00:00:00Z';

export const scaleManifestBench: Bench = {
  name: 'scale-manifest',
  about: `The manifest of a backup of 1 TB stored, in ${segmentsCount.toLocaleString('en-US')} segments: written, opened, and the segment of one document found. The segments themselves are only named.`,
  async run() {
    const root = await mkdtemp(join(tmpdir(), 'holdfast-scale-'));
    try {
      return await measure(await createLocalStore({ root }));
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  },
};

async function measure(local: BlobStore) {
  const segments = Array.from({ length: segmentsCount }, (_, sequence) => descriptor(sequence));
  const keys = new KeyRing([{ key: new Uint8Array(32).fill(1) }]);
  const dataKey = newDataKey();
  const documents = segmentsCount * recordsPerSegment;
  const storedBytes = segmentsCount * segmentStoredBytes;
  const store = listing(local, segments);
  const startedAtMs = performance.now();
  const written = await writeManifest(
    {
      formatVersion: 1,
      backupId,
      type: 'full',
      database,
      scope: wholeDatabase,
      snapshotTime: instant,
      createdAt: instant,
      completedAt: instant,
      parent: null,
      mergedFrom: [],
      ranges: [{ start: null, end: null, parts: [{ start: null, readTime: instant }] }],
      counts: { documents, puts: documents, deletes: 0, segments: segmentsCount, plainBytes: storedBytes, storedBytes },
      collections: [{ path: 'orders', documents }],
      collectionsTruncated: false,
      authUsers: null,
      warnings: [],
    },
    segments,
    { store, dataKey, envelope: await keys.wrap(backupId, dataKey) },
  );
  const writeSeconds = (performance.now() - startedAtMs) / 1000;
  const counter = new StoreCounter();
  const openedAtMs = performance.now();
  const view = await openView({ store: counter.wrap(local), backupId, keys, codec: new SegmentCodec() });
  const openMilliseconds = Math.round(performance.now() - openedAtMs);
  // The segment itself is not there: what counts is what it takes to know where it should be.
  const wanted = segments[Math.floor(segmentsCount * 0.7)]!;
  await view.get(wanted.firstPath).catch(() => undefined);
  const manifestBytes = written.storedBytes - storedBytes;
  const details = {
    manifestMiB: Math.round(manifestBytes / 2 ** 20),
    shards: written.body.shards.length,
    writeSeconds: Math.round(writeSeconds * 10) / 10,
    openMilliseconds,
    readsToFindASegment: counter.reads,
    KiBReadToFindIt: Math.round(counter.bytesRead / 1024),
  };
  return [
    figure('manifest of 1 TB', '100 MiB', manifestBytes / manifestBytesMax, 1, 'lower', details, counter.reads <= 2),
  ];
}

function descriptor(sequence: number): SegmentDescriptor {
  const first = sequence * recordsPerSegment;
  const path = (number: number) => `orders/${String(number).padStart(20, '0')}`;
  return {
    id: randomBytes(16).toString('hex'),
    content: 1,
    range: 0,
    sequence,
    records: recordsPerSegment,
    puts: recordsPerSegment,
    deletes: 0,
    firstPath: path(first),
    lastPath: path(first + recordsPerSegment - 1),
    headerBytes: 48,
    indexBytes: 150_000,
    dataBytes: segmentStoredBytes - 150_048,
    plainBytes: 7_000_000,
    sha256: randomBytes(32).toString('hex'),
  };
}

/** The store with the segments in its listing, as they would stand there. */
function listing(store: BlobStore, segments: readonly SegmentDescriptor[]): BlobStore {
  return {
    ...new StoreCounter().wrap(store),
    async *list(): AsyncGenerator<BlobInfo> {
      for (const segment of segments)
        yield {
          key: segmentKey(backupId, segment.id),
          size: storedBytesOf(segment),
          etag: '',
          modifiedAt: new Date(instant),
        };
    },
  };
}
