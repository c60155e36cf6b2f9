import {
  type ApplyOptions,
  type ApplyResult,
  type DocumentSource,
  type DocumentTarget,
  everything,
  type Instant,
  type PathRange,
  type RecordBatch,
  RecordBatchBuilder,
  readRecords,
  recordKind,
  type ScanOptions,
} from '@holdfast/engine';
import { sampleOrders } from '../fill-documents.ts';

const digits = 9;
const variants = 2_000;
const now: Instant = '2026-01-01T00:00:00Z';
const timestampSeconds = 1_767_225_600;

/**
 * A database of any size that is made while it is read: orders of about 600 bytes, each with a name of its own and one of
 * some thousand contents. As a target it compares what arrives with what it would have made itself, byte by byte.
 */
export class GeneratedDatabase implements DocumentSource, DocumentTarget {
  readonly database = 'projects/bench/databases/(default)';
  readonly usage = { documentsRead: 0, bytesReceived: 0, documentsWritten: 0, documentsDeleted: 0 };
  readonly #documents: number;
  readonly #tails: readonly Buffer[];
  readonly #name = Buffer.from(`${this.database}/documents/orders/${'0'.repeat(digits)}`);

  constructor(documents: number) {
    this.#documents = documents;
    const times = Buffer.concat([timeField(0x1a), timeField(0x22)]);
    this.#tails = sampleOrders(variants, `${this.database}/documents`).map((fields) => Buffer.concat([fields, times]));
  }

  async snapshotTime(): Promise<Instant> {
    return now;
  }

  async earliestReadTime(): Promise<Instant> {
    return now;
  }

  async *listCollectionIds(parentPath: string): AsyncGenerator<string> {
    if (parentPath === '') yield 'orders';
  }

  async planRanges(): Promise<PathRange[]> {
    return [everything];
  }

  async count(): Promise<number> {
    return this.#documents;
  }

  async *scan(_range: PathRange, { after }: ScanOptions): AsyncGenerator<RecordBatch> {
    const builder = new RecordBatchBuilder();
    for (let index = after === undefined ? 0 : Number(after.slice(-digits)) + 1; index < this.#documents; index += 1) {
      builder.add(recordKind.put, pathOf(index), this.#document(index));
      if (builder.isFull) yield builder.take();
    }
    if (!builder.isEmpty) yield builder.take();
  }

  // biome-ignore lint/correctness/useYield: nothing here fetches single documents
  async *fetch(): AsyncGenerator<RecordBatch> {
    throw new Error('A generated database is only scanned.');
  }

  async apply(batches: AsyncIterable<RecordBatch>, { signal }: ApplyOptions): Promise<ApplyResult> {
    let written = 0;
    let bytes = 0;
    for await (const batch of batches) {
      signal?.throwIfAborted();
      for (const { path, body } of readRecords(batch, this.database)) {
        if (path !== pathOf(written) || this.#document(written).compare(body) !== 0)
          throw new Error(`Document ${written} came back as another one.`);
        written += 1;
        bytes += body.length;
      }
      batch.release?.();
    }
    if (written !== this.#documents) throw new Error(`${written} of ${this.#documents} documents came back.`);
    return { written, bytes, skipped: 0, deleted: 0, failed: 0, conflicts: 0, errors: [] };
  }

  async close(): Promise<void> {}

  #document(index: number): Buffer {
    this.#name.write(String(index).padStart(digits, '0'), this.#name.length - digits, 'latin1');
    return Buffer.concat([Buffer.from([0x0a, this.#name.length]), this.#name, this.#tails[index % variants]!]);
  }
}

function pathOf(index: number): string {
  return `orders/${String(index).padStart(digits, '0')}`;
}

/** A time of the document: a tag, a length, and seconds as a varint. */
function timeField(tag: number): Buffer {
  const seconds: number[] = [];
  let rest = timestampSeconds;
  for (; rest >= 128; rest = Math.floor(rest / 128)) seconds.push((rest % 128) + 128);
  return Buffer.from([tag, seconds.length + 2, 0x08, ...seconds, rest]);
}
