import type { DrillReport } from '@holdfast/contract';
import { comparePaths, documentContent, type RecordBatch, readRecords } from '@holdfast/engine';
import { type Digests, isAbsent, isSame, type PieceToCompare } from './compare-values.ts';
import type { ComparingThread } from './drill-thread.ts';

type Difference = DrillReport['differences']['sample'][number];

export interface Document {
  readonly path: string;
  readonly body: Uint8Array;
  readonly isAsCreated: boolean;
}

/** How many documents are sent to the comparing thread at a time. */
const pieceDocumentsMax = 128;
const pieceBytesMax = 1024 * 1024;
const sampleMax = 100;
/** A path can be long, and the sample is signed and kept. */
const sampleBytesMax = 16 * 1024;

interface Pair {
  readonly path: string;
  readonly expected: Document | undefined;
  readonly found: Document | undefined;
}

/**
 * Compares expected and restored documents in path order. Pairs are formed here; their values are compared on another
 * thread, one piece while the next is being read.
 */
export class Comparison {
  matched = 0;
  bytes = 0;
  differences = 0;
  /** Differences that only another writer can have caused: a drill creates each document once. */
  othersWrites = 0;
  readonly sample: Difference[] = [];
  readonly #thread: ComparingThread;
  #sampleBytes = 0;
  #pairs: Pair[] = [];
  #pairsBytes = 0;
  #underWay: Promise<void> = Promise.resolve();

  constructor(thread: ComparingThread) {
    this.#thread = thread;
  }

  async add(expected: AsyncIterable<Document>, restored: AsyncIterable<Document>): Promise<void> {
    const there = restored[Symbol.asyncIterator]();
    try {
      let next = await there.next();
      for await (const document of expected) {
        const { path } = document;
        for (; !next.done && comparePaths(next.value.path, path) < 0; next = await there.next())
          await this.#pair(next.value.path, undefined, next.value);
        if (next.done || next.value.path !== path) await this.#pair(path, document, undefined);
        else {
          await this.#pair(path, document, next.value);
          next = await there.next();
        }
      }
      for (; !next.done; next = await there.next()) await this.#pair(next.value.path, undefined, next.value);
      await this.#send();
      await this.#underWay;
    } finally {
      await there.return?.();
    }
  }

  digests(): Promise<Digests> {
    return this.#thread.digests();
  }

  #pair(path: string, expected: Document | undefined, found: Document | undefined): Promise<void> | undefined {
    const bytes = expected?.body.length ?? 0;
    this.bytes += bytes;
    this.#pairs.push({ path, expected, found });
    this.#pairsBytes += bytes + (found?.body.length ?? 0);
    const isFull = this.#pairs.length >= pieceDocumentsMax || this.#pairsBytes >= pieceBytesMax;
    return isFull ? this.#send() : undefined;
  }

  async #send(): Promise<void> {
    const pairs = this.#pairs;
    [this.#pairs, this.#pairsBytes] = [[], 0];
    if (pairs.length === 0) return;
    const piece = pieceOf(pairs);
    await this.#underWay;
    this.#underWay = this.#thread.compare(piece).then((different) => this.#judge(pairs, new Set(different)));
    this.#underWay.catch(() => undefined);
  }

  #judge(pairs: readonly Pair[], different: ReadonlySet<number>): void {
    for (const [index, { path, expected, found }] of pairs.entries()) {
      if (expected !== undefined && found !== undefined && !different.has(index)) {
        this.matched++;
        continue;
      }
      const kind = expected === undefined ? 'unexpected' : found === undefined ? 'missing' : 'different';
      if (kind === 'unexpected' || (kind === 'different' && !found?.isAsCreated)) this.othersWrites++;
      this.#note({ path, kind });
    }
  }

  #note(difference: Difference): void {
    this.differences++;
    this.#sampleBytes += Buffer.byteLength(difference.path);
    if (this.sample.length < sampleMax && this.#sampleBytes <= sampleBytesMax) this.sample.push(difference);
  }
}

function pieceOf(pairs: readonly Pair[]): PieceToCompare {
  const lengths = new Int32Array(2 * pairs.length);
  const bodies: Uint8Array[] = [];
  for (const [index, { expected, found }] of pairs.entries()) {
    const areSame = expected !== undefined && found !== undefined && haveSameBytes(expected, found);
    lengths[2 * index] = expected?.body.length ?? isAbsent;
    lengths[2 * index + 1] = areSame ? isSame : (found?.body.length ?? isAbsent);
    if (expected !== undefined) bodies.push(expected.body);
    if (found !== undefined && !areSame) bodies.push(found.body);
  }
  const bytes = new Uint8Array(bodies.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const body of bodies) {
    bytes.set(body, offset);
    offset += body.length;
  }
  return { paths: pairs.map(({ path }) => path), bytes, lengths };
}

function haveSameBytes(expected: Document, found: Document): boolean {
  return Buffer.compare(documentContent(expected.body), documentContent(found.body)) === 0;
}

export async function* documentsOf(
  batches: AsyncIterable<RecordBatch> | Iterable<RecordBatch>,
  database: string,
): AsyncGenerator<Document> {
  for await (const batch of batches) yield* readRecords(batch, database);
}
