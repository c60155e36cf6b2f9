import type { JournalPage } from '../../format/journal-page.ts';
import { encodeDeletedDocument } from '../../ports/deleted-document.ts';
import type { GuardedBatch, Version, WriteOutcome } from '../../ports/document-target.ts';
import { instantFromParts } from '../../ports/instant.ts';
import { comparePaths } from '../../ports/path-order.ts';
import { type RecordBatch, recordKind } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { View } from '../view/view.ts';

export interface UndoOptions {
  /** The journal of the restore that is undone. */
  journal(): AsyncIterable<JournalPage>;
  /** What the target held before that restore; absent when it could overwrite nothing. */
  before: View | undefined;
  /** The database for the names in deletes. */
  database: string;
  signal?: AbortSignal;
  /** Only these documents; absent: all in the journal. */
  only?: ReadonlySet<string> | undefined;
}

/** A version that the undo needs and cannot find. */
export class LostVersion extends Error {
  readonly path: string;

  constructor(path: string) {
    super('what was there before was not saved');
    this.path = path;
  }
}

/**
 * The records that undo a restore, in the order of its journal: created documents are deleted; replaced and deleted
 * ones are put back. Each applies only to the version that the restore left.
 */
export async function* undoRecords(options: UndoOptions): AsyncGenerator<GuardedBatch> {
  const saved = new SavedVersions(options);
  for await (const page of options.journal()) {
    saved.add(page);
    const written = page.outcomes.filter(
      ({ result, path }) => result === 'written' && (options.only?.has(path) ?? true),
    );
    if (written.length > 0) yield* undoPage(written, saved, options);
  }
}

const savedBytesMax = 32 * 1024 * 1024;

/**
 * Versions that a restore saved before it overwrote them. The journal page about the write follows soon after. Saved
 * versions that are not needed soon are dropped when there are too many, and read from the journal again.
 */
class SavedVersions {
  readonly #journal: UndoOptions['journal'];
  readonly #kept = new Map<string, Uint8Array>();
  #bytes = 0;
  #isAnyDropped = false;

  constructor({ journal }: UndoOptions) {
    this.#journal = journal;
  }

  add(page: JournalPage): void {
    for (const { path, version, bytes } of page.saved) this.#keep(keyOf(path, version), bytes);
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= savedBytesMax) break;
      this.#drop(oldest);
      this.#isAnyDropped = true;
    }
  }

  /**
   * Also loads the versions that are needed next, as far as there is room, so that the journal is not read again for
   * each of them.
   */
  async find({ path, replaced }: WriteOutcome, next: () => readonly WriteOutcome[]): Promise<Uint8Array | undefined> {
    const key = keyOf(path, replaced);
    if (!this.#kept.has(key) && this.#isAnyDropped) await this.#readAgain(next());
    return this.#kept.get(key);
  }

  /** Versions that are needed last are left out if there is no room. */
  async #readAgain(next: readonly WriteOutcome[]): Promise<void> {
    const placeOf = new Map(next.map(({ path, replaced }, place) => [keyOf(path, replaced), place]));
    for (const kept of this.#kept.keys()) this.#drop(kept);
    for await (const page of this.#journal())
      for (const { path, version, bytes } of page.saved) {
        if (placeOf.has(keyOf(path, version))) this.#keep(keyOf(path, version), bytes);
        while (this.#bytes > savedBytesMax && this.#kept.size > 1)
          this.#drop(
            [...this.#kept.keys()].reduce((last, key) => (placeOf.get(key)! > placeOf.get(last)! ? key : last)),
          );
      }
  }

  #keep(key: string, bytes: Uint8Array): void {
    this.#drop(key);
    this.#kept.set(key, bytes);
    this.#bytes += bytes.length;
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.length ?? 0;
    this.#kept.delete(key);
  }
}

async function* undoPage(
  written: readonly WriteOutcome[],
  saved: SavedVersions,
  { before, database, signal }: UndoOptions,
): AsyncGenerator<GuardedBatch> {
  const outcomes = written.toSorted((left, right) => comparePaths(left.path, right.path));
  const range = { start: outcomes[0]!.path, end: `${outcomes.at(-1)!.path}/` };
  const former = before
    ? documentsOf(before.records({ range }, signal ? { signal } : {}), before.database)
    : noDocuments();
  const builder = new RecordBatchBuilder();
  let expected: (Version | null)[] = [];
  const take = (): GuardedBatch => {
    const batch = { ...builder.take(), expected };
    expected = [];
    return batch;
  };
  let next = await former.next();
  for (const [place, outcome] of outcomes.entries()) {
    const { path, replaced } = outcome;
    while (!next.done && comparePaths(next.value.path, path) < 0) next = await former.next();
    const known = !next.done && next.value.path === path ? next.value : undefined;
    if (outcome.kind === recordKind.put && replaced === null) {
      const gone = encodeDeletedDocument(`${database}/documents/${path}`, instantOf(outcome.version));
      builder.add(recordKind.delete, path, gone);
    } else {
      const bytes =
        known && isSame(known.version, replaced) ? known.bytes : await saved.find(outcome, () => outcomes.slice(place));
      // Everything that the restore deleted was saved first. This document had been deleted by somebody else before,
      // and that answer was lost.
      if (!bytes && outcome.kind === recordKind.delete) continue;
      if (!bytes) throw new LostVersion(path);
      builder.add(recordKind.put, path, bytes);
    }
    expected.push(outcome.version);
    if (builder.isFull) yield take();
  }
  await former.return(undefined);
  if (!builder.isEmpty) yield take();
}

interface Former {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly version: Version;
}

async function* documentsOf(batches: AsyncIterable<RecordBatch>, database: string): AsyncGenerator<Former> {
  for await (const batch of batches)
    for (const { path, body, updateSeconds, updateNanos } of readRecords(batch, database))
      yield { path, bytes: body, version: { seconds: updateSeconds, nanos: updateNanos } };
}

async function* noDocuments(): AsyncGenerator<Former> {}

function keyOf(path: string, version: Version | null | undefined): string {
  return `${path} ${version?.seconds} ${version?.nanos}`;
}

function isSame(left: Version, right: Version | null | undefined): boolean {
  return left.seconds === right?.seconds && left.nanos === right.nanos;
}

function instantOf(version: Version | null): string {
  return instantFromParts(version?.seconds ?? 0, version?.nanos ?? 0);
}
