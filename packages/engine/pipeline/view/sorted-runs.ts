import { randomUUID } from 'node:crypto';
import { newDataKey } from '../../crypto/key-ring.ts';
import type { SegmentDescriptor } from '../../format/descriptor.ts';
import { segmentKey } from '../../format/object-keys.ts';
import { segmentContent } from '../../format/segment-header.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import { throwIfCancelled } from '../../ports/errors.ts';
import { comparePaths } from '../../ports/path-order.ts';
import { type RecordBatch, type RecordKind, recordHeaderBytes } from '../../ports/record.ts';
import { BufferPool } from '../segments/buffer-pool.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { SegmentCodec } from '../segments/segment-codec.ts';
import { bufferBytesFor, incrementSegmentBytes, SegmentWriter } from '../segments/segment-writer.ts';
import type { Layer } from './layer.ts';
import { mergeLayers } from './merge-layers.ts';
import { mayHold, type Selection } from './selection.ts';

export interface UnsortedRecord {
  readonly kind: RecordKind;
  readonly path: string;
  readonly body: Uint8Array;
}

export interface SortOptions {
  readonly database: string;
  /** Room for what does not fit in memory. What lies there is sealed under a key that nobody keeps. */
  readonly scratch: BlobStore;
  readonly codec: SegmentCodec;
  readonly runBytes?: number;
  readonly signal?: AbortSignal;
  /** Told where one path is found to be given twice; those far from each other may not be found. */
  readonly onRepeated?: (path: string) => void;
}

const defaultRunBytes = 16 * 1024 * 1024;
/** Reading a run holds two of its segments, so this bounds memory whatever is sorted. */
const runsMax = 48;

/**
 * Sorts records that come in any order into layers of a view, in bounded memory. Of several records of one path the last
 * one given wins. Layers are returned oldest first.
 */
export async function sortRecords(
  records: AsyncIterable<UnsortedRecord> | Iterable<UnsortedRecord>,
  options: SortOptions,
): Promise<Layer[]> {
  const sorter = new Sorter(options);
  for await (const record of records) await sorter.add(record);
  return await sorter.finish();
}

class Sorter {
  readonly #options: SortOptions;
  readonly #ownerId = `scratch-${randomUUID()}`;
  readonly #dataKey = newDataKey();
  readonly #buffers = new BufferPool(3, bufferBytesFor(incrementSegmentBytes));
  #runs: Layer[] = [];
  #pending: UnsortedRecord[] = [];
  #pendingBytes = 0;

  constructor(options: SortOptions) {
    this.#options = options;
  }

  async add({ kind, path, body }: UnsortedRecord): Promise<void> {
    this.#pending.push({ kind, path, body: body.slice() });
    this.#pendingBytes += body.length + recordHeaderBytes + path.length;
    if (this.#pendingBytes >= (this.#options.runBytes ?? defaultRunBytes)) await this.#spill();
  }

  async finish(): Promise<Layer[]> {
    await this.#spill();
    return this.#runs;
  }

  async #spill(): Promise<void> {
    throwIfCancelled(this.#options.signal);
    if (this.#pending.length === 0) return;
    const newest = new Map(this.#pending.map((record) => [record.path, record]));
    const repeated = this.#pending.find((record) => newest.get(record.path) !== record);
    if (repeated) this.#options.onRepeated?.(repeated.path);
    const sorted = [...newest.values()].sort((left, right) => comparePaths(left.path, right.path));
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#runs.push(await this.#writeRun(batches(sorted)));
    if (this.#runs.length >= runsMax)
      this.#runs = [await this.#writeRun(mergedBatches(this.#runs, this.#options.signal))];
  }

  async #writeRun(records: AsyncIterable<RecordBatch> | Iterable<RecordBatch>): Promise<Layer> {
    const { scratch: store, codec, database, signal } = this.#options;
    const context = { ownerId: this.#ownerId, dataKey: this.#dataKey, database };
    const segments: SegmentDescriptor[] = [];
    const writer = new SegmentWriter({
      store,
      codec,
      buffers: this.#buffers,
      context,
      content: segmentContent.documents,
      range: 0,
      firstSequence: 0,
      segmentBytes: incrementSegmentBytes,
      keyOf: ({ id }) => segmentKey(this.#ownerId, id),
      onSegment: ({ descriptor }) => void segments.push(descriptor),
      ...(signal ? { signal } : {}),
    });
    for await (const batch of records) await writer.write(batch);
    await writer.finish();
    return {
      async *descriptors(selection: Selection) {
        yield* segments.filter(({ firstPath, lastPath }) => mayHold(selection, firstPath, lastPath));
      },
      read: async (descriptor) =>
        await codec.open(await store.get(segmentKey(context.ownerId, descriptor.id)), descriptor, context),
      readIndex: async (descriptor) =>
        (await codec.open(await store.get(segmentKey(context.ownerId, descriptor.id)), descriptor, context)).index,
    };
  }
}

function* batches(records: readonly UnsortedRecord[]): Generator<RecordBatch> {
  const builder = new RecordBatchBuilder();
  for (const { kind, path, body } of records) {
    builder.add(kind, path, body);
    if (builder.isFull) yield builder.take();
  }
  if (!builder.isEmpty) yield builder.take();
}

/** Puts and deletes of several layers as one ascending stream; of several of one path the newest. */
export async function* mergedBatches(
  runs: readonly Layer[],
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordBatch> {
  for await (const { segment, from, to } of mergeLayers(runs, {}, { namesOnly: false, includeDeletes: true, signal })) {
    const { offsets, paths } = segment.entries;
    const bytes = segment.data!.subarray(offsets[from]!, offsets[to]!);
    yield { bytes, count: to - from, firstPath: paths[from]!, lastPath: paths[to - 1]! };
  }
}
