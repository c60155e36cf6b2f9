import { createHash } from 'node:crypto';
import type { DrillReport } from '@holdfast/contract';
import { canonicalFields, comparePaths, documentContent, type RecordBatch, readRecords } from '@holdfast/engine';

type Difference = DrillReport['differences']['sample'][number];

/** Resolves when the next few milliseconds of comparing may begin. */
export type Turn = () => Promise<void>;

export interface Document {
  readonly path: string;
  readonly body: Uint8Array;
  readonly isAsCreated: boolean;
}

/** Some milliseconds of hashing; then whoever else needs the thread has it. */
const comparedAtOnce = 32;
const sampleMax = 100;
/** A path can be long, and the sample is signed and kept. */
const sampleBytesMax = 16 * 1024;

/**
 * What should be there and what is, document by document in the order of paths. Values are compared, not bytes: a
 * database may order the fields of a map anew. Both sides are hashed in a form in which equal values are equal.
 */
export class Comparison {
  matched = 0;
  bytes = 0;
  differences = 0;
  /** Those of the differences that only somebody who wrote there can have made: whoever restores into it creates, once. */
  othersWrites = 0;
  readonly sample: Difference[] = [];
  readonly #expected = createHash('sha256');
  readonly #restored = createHash('sha256');
  readonly #turn: Turn;
  #sampleBytes = 0;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  async add(expected: AsyncIterable<Document>, restored: AsyncIterable<Document>): Promise<void> {
    const there = restored[Symbol.asyncIterator]();
    try {
      let next = await there.next();
      let compared = 0;
      for await (const document of expected) {
        if (++compared % comparedAtOnce === 0) await this.#turn();
        for (; !next.done && comparePaths(next.value.path, document.path) < 0; next = await there.next())
          this.#unexpected(next.value);
        if (next.done || next.value.path !== document.path) this.#missing(document);
        else {
          this.#both(document, next.value);
          next = await there.next();
        }
      }
      for (; !next.done; next = await there.next()) this.#unexpected(next.value);
    } finally {
      await there.return?.();
    }
  }

  digests(): Pick<DrillReport, 'sha256Expected' | 'sha256Restored'> {
    return { sha256Expected: this.#expected.digest('hex'), sha256Restored: this.#restored.digest('hex') };
  }

  #both({ path, body }: Document, found: Document): void {
    this.bytes += body.length;
    const values = canonicalFields(body);
    const areSameBytes = Buffer.compare(documentContent(body), documentContent(found.body)) === 0;
    const foundValues = areSameBytes ? values : canonicalFields(found.body);
    this.#expected.update(lineOf(path, values));
    this.#restored.update(lineOf(path, foundValues));
    if (values === foundValues) this.matched++;
    else {
      if (!found.isAsCreated) this.othersWrites++;
      this.#note({ path, kind: 'different' });
    }
  }

  #missing({ path, body }: Document): void {
    this.bytes += body.length;
    this.#expected.update(lineOf(path, canonicalFields(body)));
    this.#note({ path, kind: 'missing' });
  }

  #unexpected({ path, body }: Document): void {
    this.#restored.update(lineOf(path, canonicalFields(body)));
    this.othersWrites++;
    this.#note({ path, kind: 'unexpected' });
  }

  #note(difference: Difference): void {
    this.differences++;
    this.#sampleBytes += Buffer.byteLength(difference.path);
    if (this.sample.length < sampleMax && this.#sampleBytes <= sampleBytesMax) this.sample.push(difference);
  }
}

function lineOf(path: string, values: string): string {
  return `${path}\0${values}\n`;
}

export async function* documentsOf(
  batches: AsyncIterable<RecordBatch> | Iterable<RecordBatch>,
  database: string,
): AsyncGenerator<Document> {
  for await (const batch of batches) yield* readRecords(batch, database);
}
