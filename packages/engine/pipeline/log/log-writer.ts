import type { Envelope } from '../../crypto/envelope.ts';
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
import { type Instant, thinnedInstants } from '../../ports/instant.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import type { LogStretch } from './log-coverage.ts';
import type { OpenedLogSegment } from './log-reader.ts';
import { contentsOf, type LogSegment, sortedByPath } from './log-segment.ts';
import { encodeStretch } from './log-stretch.ts';

const marksPerSegmentMax = 256;

export interface CreateLogOptions extends Omit<LogManifestBody, 'formatVersion'> {
  readonly store: BlobStore;
  readonly keys: KeyRing;
}

/** Begins a log with a manifest that names its owner and holds its key. Returns the context for sealing segments. */
export async function createLog(options: CreateLogOptions): Promise<SealContext> {
  const { keys, logId, database } = options;
  const dataKey = newDataKey();
  await writeLogManifest({ ...options, dataKey, envelope: await keys.wrap(logId, dataKey) }, { ifAbsent: true });
  return { ownerId: logId, dataKey, database };
}

export interface LogManifestOptions extends Omit<CreateLogOptions, 'keys'> {
  readonly dataKey: Uint8Array;
  readonly envelope: Envelope;
}

/** Writes a log's manifest, also again after its key was rewrapped. */
export async function writeLogManifest(options: LogManifestOptions, put: PutOptions = {}): Promise<void> {
  const { store, logId, database, scope, createdAt, from, joined = [], dataKey, envelope } = options;
  const more = joined.length > 0 ? { joined } : {};
  const body: LogManifestBody = { formatVersion, logId, database, scope, createdAt, from, ...more };
  const clear = { ownerId: logId, createdAt, envelope };
  const sealed = await sealManifest(body, { content: manifestContent.logRoot, ownerId: logId, dataKey, clear });
  await store.put(logManifestKey(logId), sealed.bytes, put);
}

export interface LogWriterOptions {
  readonly store: BlobStore;
  readonly codec: SegmentCodec;
  readonly context: SealContext;
  readonly nextSequence: number;
  /** The time without changes since the last segment, which the next segment reports. */
  readonly quiet?: { readonly from: Instant; readonly through: Instant };
  /** Called for each segment: a capture runs longer than any lock that was set at its start. */
  readonly put?: () => PutOptions;
  readonly signal?: AbortSignal;
}

/**
 * Seals captured batches as log segments. Time without changes needs no object: it is reported with the next change.
 */
export class LogWriter {
  readonly #options: LogWriterOptions;
  #sequence: number;
  #quiet: { readonly from: Instant; readonly through: Instant; readonly marks: readonly Instant[] } | undefined;

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#sequence = options.nextSequence;
    if (options.quiet) this.#quiet = { ...options.quiet, marks: [] };
  }

  /** Null when the batch had no changes and nothing was written. */
  async append(batch: ChangeBatch): Promise<LogSegment | null> {
    const quiet = this.#quiet?.through === batch.coveredFrom ? this.#quiet : undefined;
    const coveredFrom = quiet?.from ?? batch.coveredFrom;
    // While nothing changes, the last exact instant stands for all before it.
    const marks = [...(quiet?.marks ?? []), ...batch.marks];
    if (batch.records === null && batch.gap === undefined) {
      this.#quiet = { from: coveredFrom, through: batch.coveredThrough, marks: marks.slice(-1) };
      return null;
    }
    const data = sortedByPath(batch.records, this.#options.context.database);
    const stretch = {
      coveredFrom,
      coveredThrough: batch.coveredThrough,
      // Leaving marks out only makes a weaker promise.
      marks: thinnedInstants(marks, marksPerSegmentMax),
      gap: batch.gap ?? null,
    };
    const segment = await this.#write(data, stretch);
    this.#quiet = undefined;
    return segment;
  }

  /** Writes that nothing changed up to now, so that the covered time advances without a change. */
  async flush(): Promise<LogSegment | null> {
    if (this.#quiet === undefined) return null;
    const { from, through, marks } = this.#quiet;
    const stretch = { coveredFrom: from, coveredThrough: through, marks, gap: null };
    const segment = await this.#write(new Uint8Array(0), stretch);
    this.#quiet = undefined;
    return segment;
  }

  /** Seals a segment of another log as a segment of this one. */
  async copy({ data, coveredFrom, coveredThrough, marks, gap }: OpenedLogSegment): Promise<LogSegment> {
    return this.#write(data, { coveredFrom, coveredThrough, marks, gap });
  }

  async #write(data: Uint8Array, stretch: LogStretch): Promise<LogSegment> {
    const { store, codec, context, put, signal } = this.#options;
    const annex = encodeStretch(stretch);
    // Sealing may take the bytes away.
    const contents = contentsOf(data, context.database, stretch);
    const position = { content: segmentContent.log, range: 0, sequence: this.#sequence, annex };
    const { bytes, descriptor } = await codec.seal(data, position, context);
    const key = logSegmentKey(context.ownerId, stretch.coveredFrom, descriptor.id);
    await store.put(key, bytes, { ...put?.(), ...(signal ? { signal } : {}) });
    this.#sequence += 1;
    return { ...stretch, key, sequence: descriptor.sequence, ...contents, storedBytes: storedBytesOf(descriptor) };
  }
}
