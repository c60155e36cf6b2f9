import type { DocumentSource, Scope } from '../../ports/document-source.ts';
import type { Instant } from '../../ports/instant.ts';
import { comparePaths, everything } from '../../ports/path-order.ts';
import type { RecordBatch } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { View, ViewEntry } from '../view/view.ts';

/** Differences that are repaired at once; more than these mean that a new base is needed. */
const differencesMax = 50_000;
const repairBytesMax = 64 * 1024 * 1024;

export interface ReconcileOptions {
  readonly source: DocumentSource;
  /** What base and log say the database was at `at`. */
  readonly view: View;
  readonly at: Instant;
  readonly scope: Scope;
  readonly signal?: AbortSignal;
}

export interface Reconciliation {
  readonly documents: number;
  /** Documents that the log has otherwise than the database. */
  readonly differences: number;
  /** What makes them equal, as of `at`; null when they are. */
  readonly repair: RecordBatch | null;
  /** More differ than can be repaired in one piece. */
  readonly isTooMuch: boolean;
}

/** Names and update times of the database at one instant against those of base and log: equal proves the log. */
export async function reconcile(options: ReconcileOptions): Promise<Reconciliation> {
  const { source, view, at, scope, signal } = options;
  const call = signal ? { signal } : {};
  const known = entriesOf(view, scope, call);
  const wanted: string[] = [];
  const gone: string[] = [];
  let documents = 0;
  let next = await known.next();
  for await (const batch of source.scan(everything, { scope, readTime: at, namesOnly: true, ...call })) {
    for (const { path, updateSeconds, updateNanos } of readRecords(batch, view.database)) {
      documents += 1;
      while (!next.done && comparePaths(next.value.path, path) < 0) {
        gone.push(next.value.path);
        next = await known.next();
      }
      const entry = !next.done && next.value.path === path ? next.value : undefined;
      if (entry) next = await known.next();
      if (entry?.updateSeconds !== updateSeconds || entry.updateNanos !== updateNanos) wanted.push(path);
    }
    if (wanted.length + gone.length > differencesMax) break;
  }
  for (; !next.done && gone.length <= differencesMax; next = await known.next()) gone.push(next.value.path);
  await known.return(undefined);
  const differences = wanted.length + gone.length;
  const isFew = differences > 0 && differences <= differencesMax;
  const repair = isFew ? await fetchRepair(options, [...wanted, ...gone]) : null;
  return { documents, differences, repair, isTooMuch: differences > 0 && repair === null };
}

async function* entriesOf(view: View, scope: Scope, call: { signal?: AbortSignal }): AsyncGenerator<ViewEntry, void> {
  for await (const page of view.entries({ scope }, call)) yield* page;
}

/** The documents as they are at `at`; those that are gone come as deletes. Null when they are too large for one piece. */
async function fetchRepair({ source, at, signal }: ReconcileOptions, paths: string[]): Promise<RecordBatch | null> {
  const builder = new RecordBatchBuilder();
  let bytes = 0;
  paths.sort(comparePaths);
  for await (const batch of source.fetch(paths, { readTime: at, ...(signal ? { signal } : {}) })) {
    for (const { kind, path, body } of readRecords(batch, source.database)) {
      builder.add(kind, path, body);
      bytes += body.length;
    }
    if (bytes > repairBytesMax) return null;
  }
  return builder.take();
}
