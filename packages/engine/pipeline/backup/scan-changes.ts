import { addCounts, collectionShape } from '../../format/collection-counter.ts';
import { encodeDeletedDocument } from '../../ports/deleted-document.ts';
import { comparePaths } from '../../ports/path-order.ts';
import { recordKind } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { View, ViewEntry } from '../view/view.ts';
import type { PartScan } from './part-scan.ts';

/** Changes collected before they are fetched: as many names as one request takes. */
const pendingChangesMax = 500;

interface Change {
  readonly path: string;
  readonly isGone: boolean;
}

/**
 * Makes the increment of one part. Walks names and update times of source and parent view side by side, fetches
 * documents that differ, and writes deletes for missing ones. `doneThrough`: changes up to here are already in stored
 * segments.
 */
export async function scanChanges(part: PartScan, parentView: View, doneThrough: string | undefined): Promise<void> {
  const { source, plan, pathRange, readTime, after, signal, tally, onRead } = part;
  const options = {
    scope: plan.scope,
    readTime,
    namesOnly: true,
    ...(after === undefined ? {} : { after }),
    ...(signal ? { signal } : {}),
  };
  const known = new KnownNames(parentView, { range: pathRange, ...(after === undefined ? {} : { after }) }, signal);
  const shapes = new ShapeCounter();
  const note = (path: string, isGone: boolean, into: Change[]) => {
    if (doneThrough === undefined || comparePaths(path, doneThrough) > 0) into.push({ path, isGone });
  };
  let pending: Change[] = [];
  let documents = 0;
  let through = after;
  const settle = async () => {
    await writeChanges(part, pending);
    pending = [];
    tally.documents += documents;
    tally.through = through;
    addCounts(tally.collections, shapes.take());
    documents = 0;
  };
  try {
    for await (const batch of source.scan(pathRange, options)) {
      for (const { path, updateSeconds, updateNanos } of readRecords(batch, plan.database)) {
        for (let gone = await known.before(path); gone !== undefined; gone = await known.before(path))
          note(gone.path, true, pending);
        const before = await known.at(path);
        const isSame = before?.updateSeconds === updateSeconds && before.updateNanos === updateNanos;
        if (!isSame) note(path, false, pending);
        documents += 1;
        shapes.count(path);
        through = path;
        if (pending.length >= pendingChangesMax) await settle();
      }
      onRead(batch.count, batch.bytes.length);
    }
    for (let gone = await known.next(); gone !== undefined; gone = await known.next()) {
      note(gone.path, true, pending);
      if (pending.length >= pendingChangesMax) {
        through = gone.path;
        await settle();
      }
    }
    await settle();
  } finally {
    await known.close();
  }
}

/** Fetches changed documents and writes them with the deletes between them, in order and in bounded batches. */
async function writeChanges(
  { source, plan, readTime, signal, writer }: PartScan,
  changes: readonly Change[],
): Promise<void> {
  const wanted = changes.filter(({ isGone }) => !isGone).map(({ path }) => path);
  const gone = changes.filter(({ isGone }) => isGone).map(({ path }) => path);
  const builder = new RecordBatchBuilder();
  const flushWhenFull = async () => {
    if (builder.isFull) await writer.write(builder.take());
  };
  const addGoneBefore = async (path: string | undefined) => {
    while (gone.length > 0 && (path === undefined || comparePaths(gone[0]!, path) < 0)) {
      const gonePath = gone.shift()!;
      builder.add(
        recordKind.delete,
        gonePath,
        encodeDeletedDocument(`${plan.database}/documents/${gonePath}`, readTime),
      );
      await flushWhenFull();
    }
  };
  if (wanted.length > 0) {
    for await (const batch of source.fetch(wanted, { readTime, ...(signal ? { signal } : {}) })) {
      for (const { kind, path, body } of readRecords(batch, plan.database)) {
        await addGoneBefore(path);
        builder.add(kind, path, body);
        await flushWhenFull();
      }
    }
  }
  await addGoneBefore(undefined);
  if (!builder.isEmpty) await writer.write(builder.take());
}

/** The parent view's names, one at a time. Waits only at the end of a page. */
class KnownNames {
  readonly #pages: AsyncGenerator<readonly ViewEntry[]>;
  #page: readonly ViewEntry[] = [];
  #position = 0;

  constructor(view: View, selection: Parameters<View['entries']>[0], signal: AbortSignal | undefined) {
    this.#pages = view.entries(selection, signal === undefined ? {} : { signal });
  }

  /** The next name when it comes before `path`. */
  async before(path: string): Promise<ViewEntry | undefined> {
    const entry = this.#page[this.#position] ?? (await this.#load());
    if (entry === undefined || comparePaths(entry.path, path) >= 0) return undefined;
    this.#position += 1;
    return entry;
  }

  /** The next name when it is `path`. */
  async at(path: string): Promise<ViewEntry | undefined> {
    const entry = this.#page[this.#position] ?? (await this.#load());
    if (entry?.path !== path) return undefined;
    this.#position += 1;
    return entry;
  }

  async next(): Promise<ViewEntry | undefined> {
    const entry = this.#page[this.#position] ?? (await this.#load());
    this.#position += 1;
    return entry;
  }

  async close(): Promise<void> {
    await this.#pages.return(undefined);
  }

  async #load(): Promise<ViewEntry | undefined> {
    while (this.#position >= this.#page.length) {
      const { done, value } = await this.#pages.next();
      if (done) return undefined;
      this.#page = value;
      this.#position = 0;
    }
    return this.#page[this.#position];
  }
}

/** Counts documents per collection shape. Neighbours have the same parent, so the shape is computed once per parent. */
class ShapeCounter {
  #counts = new Map<string, number>();
  #parent = '';
  #shape = '';

  count(path: string): void {
    const parent = path.slice(0, path.lastIndexOf('/'));
    if (parent !== this.#parent) {
      this.#parent = parent;
      this.#shape = collectionShape(path);
    }
    addCounts(this.#counts, [[this.#shape, 1]]);
  }

  take(): ReadonlyMap<string, number> {
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }
}
