import type { SegmentDescriptor } from '../../format/descriptor.ts';
import type { DocumentSummary, RecordSummary } from '../../format/index-build.ts';
import { type SealContext, type SegmentPosition, summaryOf } from '../../format/segment.ts';
import type { SegmentContent } from '../../format/segment-header.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import { EngineError, throwIfCancelled } from '../../ports/errors.ts';
import { type RecordBatch, type RecordLocation, readRecordAt } from '../../ports/record.ts';
import type { BufferPool } from './buffer-pool.ts';
import type { SegmentCodec } from './segment-codec.ts';

export const segmentBufferBytes = 8 * 1024 * 1024;
export const fullSegmentBytes = 6 * 1024 * 1024;
/** Small, because reading a chain keeps one segment of every increment in memory. */
export const incrementSegmentBytes = 1024 * 1024;

/** The buffer size for segments of this length: a nearly full segment and one batch of the same length. */
export function bufferBytesFor(segmentBytes: number): number {
  return Math.min(segmentBufferBytes, 2 * segmentBytes);
}

export interface SegmentWriterOptions {
  readonly store: BlobStore;
  readonly codec: SegmentCodec;
  readonly buffers: BufferPool;
  readonly context: SealContext;
  readonly content: SegmentContent;
  readonly range: number;
  readonly firstSequence: number;
  readonly segmentBytes: number;
  readonly keyOf: (descriptor: SegmentDescriptor) => string;
  readonly lock?: { readonly mode: 'governance' | 'compliance'; readonly retainUntil: Date };
  readonly signal?: AbortSignal;
  /** Called in the order of sequence, once the segment is durable: what a checkpoint may rely on. */
  readonly onSegment: (segment: FinishedSegment) => void | Promise<void>;
}

export interface FinishedSegment {
  readonly descriptor: SegmentDescriptor;
  readonly collections: ReadonlyMap<string, number>;
}

/** Segments of one writer being sealed or stored at a time; the buffer pool bounds all writers together. */
const inFlightMax = 4;

/** Collects batches into segments and stores them. Batches must ascend by path; that is checked as they come. */
export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  #buffer: ArrayBuffer | undefined;
  #bytes = new Uint8Array(0);
  #used = 0;
  #summary: DocumentSummary | undefined;
  #sequence: number;
  #inFlight = 0;
  #wake: (() => void) | undefined;
  /** Resolves when every segment so far is stored and announced; rejects at the first failure and stays rejected. */
  #tail: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(options: SegmentWriterOptions) {
    this.#options = options;
    this.#sequence = options.firstSequence;
  }

  async write(batch: RecordBatch): Promise<void> {
    if (batch.bytes.length <= this.#options.segmentBytes) return await this.#append(batch.bytes);
    for (const part of splitRecords(batch.bytes, this.#options.segmentBytes)) await this.#append(part);
  }

  /** Seals what is left and waits until everything is durable. */
  async finish(): Promise<void> {
    if (this.#used > 0) await this.#seal();
    await this.#tail;
    this.#assertUnbroken();
    this.#releaseBuffer();
  }

  /** Waits for work in progress and returns the buffers; for when the source failed. */
  async abandon(): Promise<void> {
    await this.#tail.catch(() => undefined);
    this.#releaseBuffer();
  }

  async #append(bytes: Uint8Array): Promise<void> {
    this.#assertUnbroken();
    throwIfCancelled(this.#options.signal);
    if (this.#used > 0 && this.#used + bytes.length > this.#bytes.length) await this.#seal();
    if (this.#buffer === undefined) {
      this.#buffer = await this.#options.buffers.acquire();
      // A rare record is larger than a buffer: it gets its own memory, and the buffer stays reserved meanwhile.
      const isTooLarge = bytes.length > this.#buffer.byteLength;
      this.#bytes = isTooLarge ? new Uint8Array(bytes.length) : new Uint8Array(this.#buffer);
      this.#summary = summaryOf(this.#options.content, this.#options.context.database);
    }
    this.#bytes.set(bytes, this.#used);
    this.#used += bytes.length;
    this.#summary?.add(this.#bytes, this.#used);
    if (this.#used >= this.#options.segmentBytes) await this.#seal();
  }

  async #seal(): Promise<void> {
    while (this.#inFlight >= inFlightMax) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#assertUnbroken();
    const summary = this.#summary?.finish(this.#bytes);
    const bytes = this.#bytes.subarray(0, this.#used);
    const stored = this.#sealAndStore(bytes, this.#buffer!, this.#sequence, summary);
    this.#buffer = undefined;
    this.#summary = undefined;
    this.#used = 0;
    this.#sequence += 1;
    this.#inFlight += 1;
    this.#tail = this.#announce(stored, this.#tail);
    this.#tail.catch(() => undefined);
  }

  async #sealAndStore(
    bytes: Uint8Array,
    buffer: ArrayBuffer,
    sequence: number,
    summary: RecordSummary | undefined,
  ): Promise<FinishedSegment> {
    const { codec, context, content, range, buffers, store, keyOf, signal, lock } = this.#options;
    const position: SegmentPosition = { content, range, sequence, annex: new Uint8Array(0) };
    const sealed = await codec.seal(bytes, position, context, summary).finally(() => buffers.release(buffer));
    await store.put(keyOf(sealed.descriptor), sealed.bytes, {
      sha256: sealed.descriptor.sha256,
      isLastUse: true,
      ...(signal ? { signal } : {}),
      ...(lock ? { lock } : {}),
    });
    return sealed;
  }

  async #announce(stored: Promise<FinishedSegment>, previous: Promise<void>): Promise<void> {
    try {
      await Promise.allSettled([stored, previous]);
      await previous;
      const segment = await stored;
      await this.#options.onSegment({ descriptor: segment.descriptor, collections: segment.collections });
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    } finally {
      this.#inFlight -= 1;
      this.#wake?.();
    }
  }

  #assertUnbroken(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #releaseBuffer(): void {
    if (this.#buffer !== undefined) this.#options.buffers.release(this.#buffer);
    this.#buffer = undefined;
  }
}

/** Cuts encoded records into pieces of at most `bytesMax`; a single record is never cut. */
function* splitRecords(bytes: Uint8Array, bytesMax: number): Generator<Uint8Array> {
  const location: RecordLocation = { kind: 1, start: 0, bodyStart: 0, end: 0 };
  let start = 0;
  let end = 0;
  while (end < bytes.length) {
    if (!readRecordAt(bytes, end, location))
      throw new EngineError('INTEGRITY_ERROR', 'A batch holds a record that is not whole.');
    if (end > start && location.end - start > bytesMax) {
      yield bytes.subarray(start, end);
      start = end;
    }
    end = location.end;
  }
  if (end > start) yield bytes.subarray(start, end);
}
