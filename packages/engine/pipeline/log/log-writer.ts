import type { KeyRing } from '../../crypto/key-ring.ts';
import { newDataKey } from '../../crypto/key-ring.ts';
import { storedBytesOf } from '../../format/descriptor.ts';
import type { LogManifestBody } from '../../format/manifest-body.ts';
import { manifestContent, sealManifest } from '../../format/manifest-object.ts';
import { logManifestKey, logSegmentKey } from '../../format/object-keys.ts';
import type { SealContext } from '../../format/segment.ts';
import { formatVersion, segmentContent } from '../../format/segment-header.ts';
import type { BlobStore, PutOptions } from '../../ports/blob-store.ts';
import type { ChangeBatch } from '../../ports/change-capture.ts';
import type { Scope } from '../../ports/document-source.ts';
import type { Instant } from '../../ports/instant.ts';
import { comparePaths } from '../../ports/path-order.ts';
import type { RecordBatch } from '../../ports/record.ts';
import { type ReadRecord, readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import type { LogStretch } from './log-coverage.ts';
import { encodeStretch } from './log-stretch.ts';

const marksPerSegmentMax = 256;

/** What the control plane keeps of a log segment. Plain JSON. */
export interface LogSegment extends LogStretch {
  readonly key: string;
  readonly sequence: number;
  readonly changes: number;
  readonly storedBytes: number;
}

export interface CreateLogOptions {
  readonly store: BlobStore;
  readonly keys: KeyRing;
  readonly logId: string;
  readonly database: string;
  readonly scope: Scope;
  readonly createdAt: Instant;
  readonly from: Instant;
}

/** Begins a log: an object that says whose it is and holds its key. Returns what sealing its segments needs. */
export async function createLog({
  store,
  keys,
  logId,
  database,
  scope,
  createdAt,
  from,
}: CreateLogOptions): Promise<SealContext> {
  const dataKey = newDataKey();
  const body: LogManifestBody = { formatVersion, logId, database, scope, createdAt, from };
  const clear = { ownerId: logId, createdAt, envelope: await keys.wrap(logId, dataKey) };
  const sealed = await sealManifest(body, { content: manifestContent.logRoot, ownerId: logId, dataKey, clear });
  await store.put(logManifestKey(logId), sealed.bytes, { ifAbsent: true });
  return { ownerId: logId, dataKey, database };
}

export interface LogWriterOptions {
  readonly store: BlobStore;
  readonly codec: SegmentCodec;
  readonly context: SealContext;
  readonly nextSequence: number;
  readonly lock?: NonNullable<PutOptions['lock']>;
  readonly signal?: AbortSignal;
}

/** Seals captured batches as log segments. Quiet stretches cost no object: they are told with the next change. */
export class LogWriter {
  readonly #options: LogWriterOptions;
  #sequence: number;
  #quiet: { readonly from: Instant; readonly through: Instant; readonly marks: readonly Instant[] } | undefined;

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#sequence = options.nextSequence;
  }

  /** Null when the batch was quiet and nothing was written yet. */
  async append(batch: ChangeBatch): Promise<LogSegment | null> {
    const quiet = this.#quiet?.through === batch.coveredFrom ? this.#quiet : undefined;
    const coveredFrom = quiet?.from ?? batch.coveredFrom;
    // While nothing changes, the last exact instant speaks for all before it.
    const marks = [...(quiet?.marks ?? []), ...batch.marks];
    if (batch.records === null && batch.gap === undefined) {
      this.#quiet = { from: coveredFrom, through: batch.coveredThrough, marks: marks.slice(-1) };
      return null;
    }
    const data =
      batch.records === null ? new Uint8Array(0) : sortedByPath(batch.records, this.#options.context.database);
    const stretch = { coveredFrom, coveredThrough: batch.coveredThrough, marks: thin(marks), gap: batch.gap ?? null };
    const segment = await this.#write(data, stretch, batch.records?.count ?? 0);
    this.#quiet = undefined;
    return segment;
  }

  /** Writes down that nothing happened up to now, so that the covered time moves on without a change. */
  async flush(): Promise<LogSegment | null> {
    if (this.#quiet === undefined) return null;
    const { from, through, marks } = this.#quiet;
    const stretch = { coveredFrom: from, coveredThrough: through, marks, gap: null };
    const segment = await this.#write(new Uint8Array(0), stretch, 0);
    this.#quiet = undefined;
    return segment;
  }

  async #write(data: Uint8Array, stretch: LogStretch, changes: number): Promise<LogSegment> {
    const { store, codec, context, lock, signal } = this.#options;
    const annex = encodeStretch(stretch);
    const position = { content: segmentContent.log, range: 0, sequence: this.#sequence, annex };
    const { bytes, descriptor } = await codec.seal(data, position, context);
    const key = logSegmentKey(context.ownerId, stretch.coveredFrom, descriptor.id);
    await store.put(key, bytes, { ...(lock ? { lock } : {}), ...(signal ? { signal } : {}) });
    this.#sequence += 1;
    return { ...stretch, key, sequence: descriptor.sequence, changes, storedBytes: storedBytesOf(descriptor) };
  }
}

/** Leaving marks out only makes a weaker promise; the last one stays. */
function thin(marks: readonly Instant[]): readonly Instant[] {
  const step = Math.ceil(marks.length / marksPerSegmentMax);
  return step <= 1 ? marks : marks.filter((_, index) => (marks.length - 1 - index) % step === 0);
}

/** Records come in the order of commits; a segment has them by path, and by time where a path repeats. */
function sortedByPath(batch: RecordBatch, database: string): Uint8Array {
  const records: ReadRecord[] = [...readRecords(batch, database)];
  records.sort(
    (left, right) =>
      comparePaths(left.path, right.path) ||
      left.updateSeconds - right.updateSeconds ||
      left.updateNanos - right.updateNanos,
  );
  const builder = new RecordBatchBuilder();
  for (const { kind, path, body } of records) builder.add(kind, path, body);
  return builder.take().bytes;
}
