import { type RecordBatch, type RecordKind, recordHeaderBytes, writeRecordHeader } from '../../ports/record.ts';

const batchBytesTarget = 512 * 1024;
/** The first buffer size: most batches of increments and logs are small, and unused memory costs too. */
const batchBytesAtFirst = 8 * 1024;

/** Collects records into batches of a bounded size. */
export class RecordBatchBuilder {
  #bytes = new Uint8Array(0);
  #room = batchBytesAtFirst;
  #used = 0;
  #count = 0;
  #firstPath = '';
  #lastPath = '';

  get isFull(): boolean {
    return this.#used >= batchBytesTarget;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  add(kind: RecordKind, path: string, body: Uint8Array): void {
    this.#reserve(recordHeaderBytes + body.length);
    writeRecordHeader(this.#bytes, this.#used, kind, body.length);
    this.#bytes.set(body, this.#used + recordHeaderBytes);
    this.#used += recordHeaderBytes + body.length;
    this.#noteNames(1, path, path);
  }

  /** Adds encoded records with their first and last path. */
  addEncoded(records: Uint8Array, count: number, firstPath: string, lastPath: string): void {
    this.#reserve(records.length);
    this.#bytes.set(records, this.#used);
    this.#used += records.length;
    this.#noteNames(count, firstPath, lastPath);
  }

  /** Returns the batch so far and begins a new one. */
  take(): RecordBatch {
    const batch = {
      bytes: this.#bytes.subarray(0, this.#used),
      count: this.#count,
      firstPath: this.#firstPath,
      lastPath: this.#lastPath,
    };
    // The next one is likely to be as long as this.
    this.#room = this.isFull ? batchBytesTarget : batchBytesAtFirst;
    this.#bytes = new Uint8Array(0);
    this.#used = 0;
    this.#count = 0;
    return batch;
  }

  #noteNames(count: number, firstPath: string, lastPath: string): void {
    if (this.#count === 0) this.#firstPath = firstPath;
    this.#lastPath = lastPath;
    this.#count += count;
  }

  #reserve(count: number): void {
    if (this.#used + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#used + count, this.#bytes.length * 2, this.#room));
    larger.set(this.#bytes.subarray(0, this.#used));
    this.#bytes = larger;
  }
}
