import { randomUUID } from 'node:crypto';
import { newDataKey } from '../../crypto/key-ring.ts';
import type { SegmentDescriptor } from '../../format/descriptor.ts';
import { segmentKey } from '../../format/object-keys.ts';
import { segmentContent } from '../../format/segment-header.ts';
import { freeBytes } from '../../memory/free-bytes.ts';
import type { BlobStore } from '../../ports/blob-store.ts';
import { throwIfCancelled } from '../../ports/errors.ts';
import { comparePaths } from '../../ports/path-order.ts';
import type { RecordBatch, RecordKind } from '../../ports/record.ts';
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
  /** For data that does not fit into memory. It is sealed with a key that is never stored. */
  readonly scratch: BlobStore;
  readonly codec: SegmentCodec;
  readonly runBytes?: number;
  readonly signal?: AbortSignal;
  /** Called when a path is found twice; repetitions that are far apart may not be found. */
  readonly onRepeated?: (path: string) => void;
}

const defaultRunBytes = 16 * 1024 * 1024;
/** Approximate memory of a record besides path and body. */
const recordBytes = 100;
const chunkBytesAtFirst = 64 * 1024;
const chunkBytesMax = 1024 * 1024;
/** Reading a run holds two of its segments, so this bounds memory whatever is sorted. */
const runsMax = 48;

/**
 * Sorts records of any order into layers of a view, with bounded memory. They arrive in groups, because waiting for
 * each of them costs far more than processing it. When a path occurs several times, the last record wins. Layers are
 * returned oldest first.
 */
export async function sortRecords(
  groups: AsyncIterable<Iterable<UnsortedRecord>>,
  options: SortOptions,
): Promise<Layer[]> {
  const sorter = new Sorter(options);
  try {
    for await (const group of groups)
      for (const record of group) {
        sorter.add(record);
        if (sorter.isFull) await sorter.spill();
      }
    await sorter.spill();
    return sorter.runs;
  } finally {
    sorter.close();
  }
}

class Sorter {
  readonly #options: SortOptions;
  readonly #ownerId = `scratch-${randomUUID()}`;
  readonly #dataKey = newDataKey();
  readonly #buffers = new BufferPool(2, bufferBytesFor(incrementSegmentBytes));
  #pending = new PendingRecords();
  runs: Layer[] = [];

  constructor(options: SortOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#pending.bytes >= (this.#options.runBytes ?? defaultRunBytes);
  }

  add(record: UnsortedRecord): void {
    this.#pending.add(record);
  }

  async spill(): Promise<void> {
    throwIfCancelled(this.#options.signal);
    if (this.#pending.bytes === 0) return;
    const pending = this.#pending;
    this.#pending = new PendingRecords();
    this.runs.push(await this.#writeRun(pending.sorted(this.#options.onRepeated)));
    pending.free();
    if (this.runs.length >= runsMax) this.runs = [await this.#writeRun(mergedBatches(this.runs, this.#options.signal))];
  }

  close(): void {
    this.#pending.free();
    this.#buffers.empty();
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

/**
 * Records to be sorted. Many bodies share one piece of memory: an object and a buffer for each would take more memory
 * than most bodies.
 */
class PendingRecords {
  readonly #paths: string[] = [];
  readonly #kinds: RecordKind[] = [];
  readonly #chunks: Uint8Array[] = [];
  /** For each record: the chunk of its body, and where it begins and ends. */
  readonly #places: number[] = [];
  #used = 0;
  #chunkBytes = chunkBytesAtFirst;
  bytes = 0;

  add({ kind, path, body }: UnsortedRecord): void {
    let chunk = this.#chunks.at(-1);
    if (!chunk || this.#used + body.length > chunk.length) {
      chunk = new Uint8Array(Math.max(body.length, this.#chunkBytes));
      this.#chunks.push(chunk);
      this.#chunkBytes = Math.min(2 * this.#chunkBytes, chunkBytesMax);
      this.#used = 0;
    }
    chunk.set(body, this.#used);
    this.#places.push(this.#chunks.length - 1, this.#used, this.#used + body.length);
    this.#paths.push(path);
    this.#kinds.push(kind);
    this.#used += body.length;
    this.bytes += body.length + path.length + recordBytes;
  }

  /** Ordered by path; of several with the same path, the last. */
  *sorted(onRepeated: SortOptions['onRepeated']): Generator<RecordBatch> {
    const paths = this.#paths;
    const order = Uint32Array.from(paths.keys());
    order.sort((left, right) => comparePaths(paths[left]!, paths[right]!) || left - right);
    const builder = new RecordBatchBuilder();
    for (let rank = 0; rank < order.length; rank += 1) {
      const index = order[rank]!;
      const path = paths[index]!;
      const next = order[rank + 1];
      if (next !== undefined && paths[next] === path) onRepeated?.(path);
      else builder.add(this.#kinds[index]!, path, this.#bodyOf(index));
      if (builder.isFull) yield* passing(builder);
    }
    if (!builder.isEmpty) yield* passing(builder);
  }

  free(): void {
    for (const chunk of this.#chunks) freeBytes(chunk);
  }

  #bodyOf(index: number): Uint8Array {
    const at = 3 * index;
    return this.#chunks[this.#places[at]!]!.subarray(this.#places[at + 1], this.#places[at + 2]);
  }
}

/** The receiver has copied the batch when it asks for the next one. */
function* passing(builder: RecordBatchBuilder): Generator<RecordBatch> {
  const batch = builder.take();
  yield batch;
  freeBytes(batch.bytes);
}

/** Puts and deletes of several layers as one ascending stream; of several with the same path, the newest. */
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
