import type { DocumentSource, Scope } from '../../ports/document-source.ts';
import type { Instant } from '../../ports/instant.ts';
import { comparePaths, everything } from '../../ports/path-order.ts';
import type { RecordBatch } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { View, ViewEntry } from '../view/view.ts';

/** The most differences that are repaired; with more, a new base is needed. */
const differencesMax = 50_000;
const repairBytesMax = 64 * 1024 * 1024;

export interface ReconcileOptions {
  readonly source: DocumentSource;
  /** The state of the database at `at`, according to base and log. */
  readonly view: View;
  readonly at: Instant;
  readonly scope: Scope;
  readonly signal?: AbortSignal;
}

export interface Reconciliation {
  readonly documents: number;
  /** Documents that differ between log and database. */
  readonly differences: number;
  /** The changes that make them equal, as of `at`; null when they are equal. */
  readonly repair: RecordBatch | null;
  /** More documents differ than can be repaired. */
  readonly isTooMuch: boolean;
}

/**
 * Compares names and update times of the database at one instant with those of base and log. If they are equal, the log
 * is proved.
 */
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

/** The documents at `at`, missing ones as deletes. Null when they are too large for one piece. */
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
