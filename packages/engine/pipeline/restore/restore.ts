import type { DocumentSource, Scope } from '../../ports/document-source.ts';
import { wholeDatabase } from '../../ports/document-source.ts';
import type { ApplyOptions, ApplyResult, DocumentTarget, MergeMode } from '../../ports/document-target.ts';
import { encodeGoneDocument } from '../../ports/gone-document.ts';
import type { Instant } from '../../ports/instant.ts';
import { comparePaths, everything } from '../../ports/path-order.ts';
import { type RecordBatch, recordKind } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { Selection } from '../view/selection.ts';
import type { View, ViewEntry } from '../view/view.ts';

export interface RestoreOptions extends Omit<ApplyOptions, 'rewriteReferencesFrom'> {
  readonly view: View;
  readonly target: DocumentTarget;
  /** What to restore; absent: everything. */
  readonly scope?: Scope;
  /** Single documents by path; absent: all of the scope. */
  readonly paths?: readonly string[];
  /** Continue behind this path, which an earlier attempt had settled. */
  readonly after?: string;
  /** References into the backed-up database follow the documents into another one. */
  readonly rewriteReferences: boolean;
  /** Make the target equal to the view within the scope: what only the target has is deleted. Needs its source side. */
  readonly deleteExtra?: { readonly source: DocumentSource; readonly readTime: Instant };
  /** The puts are done already: `after` then speaks of the deletes. */
  readonly onlyDeletes?: boolean;
}

/** A restore is a view applied to a target. */
export async function restoreView(options: RestoreOptions): Promise<ApplyResult> {
  const { view, target, rewriteReferences, mode, rampUp, signal, onProgress } = options;
  return await target.apply(recordsToApply(options), {
    mode,
    rampUp,
    ...(rewriteReferences && view.database !== target.database ? { rewriteReferencesFrom: view.database } : {}),
    ...(signal ? { signal } : {}),
    ...(onProgress ? { onProgress } : {}),
  });
}

/** The batches a restore writes: the view's documents and, when asked, deletes of what the view does not have. */
export async function* recordsToApply(options: RestoreOptions): AsyncGenerator<RecordBatch> {
  const { view, scope, paths, after, signal, deleteExtra } = options;
  const read = signal ? { signal } : {};
  if (paths !== undefined) {
    yield* chosenDocuments(view, paths, read);
    return;
  }
  const selection: Selection = { ...(scope ? { scope } : {}), ...(after === undefined ? {} : { after }) };
  if (options.onlyDeletes !== true) yield* view.records(selection, read);
  // Puts that go on behind a checkpoint say nothing about deletes: those begin at the beginning.
  if (deleteExtra !== undefined) yield* extraDeletes(options, options.onlyDeletes ? selection : scope ? { scope } : {});
}

async function* chosenDocuments(
  view: View,
  paths: readonly string[],
  read: { signal?: AbortSignal },
): AsyncGenerator<RecordBatch> {
  const builder = new RecordBatchBuilder();
  for (const path of [...new Set(paths)].sort(comparePaths)) {
    const bytes = await view.get(path, read);
    if (bytes === undefined) continue;
    builder.add(recordKind.put, path, bytes);
    if (builder.isFull) yield builder.take();
  }
  if (!builder.isEmpty) yield builder.take();
}

/** Deletes come after all puts: a restore that dies in between has removed nothing that it did not replace. */
async function* extraDeletes(
  { view, target, scope, signal, deleteExtra }: RestoreOptions,
  selection: Selection,
): AsyncGenerator<RecordBatch> {
  const { source, readTime } = deleteExtra!;
  const builder = new RecordBatchBuilder();
  const scan = source.scan(everything, {
    scope: scope ?? wholeDatabase,
    readTime,
    namesOnly: true,
    ...(selection.after === undefined ? {} : { after: selection.after }),
    ...(signal ? { signal } : {}),
  });
  for await (const { path, inView } of joinNames(view, selection, scan, target.database, signal)) {
    if (inView) continue;
    builder.add(recordKind.delete, path, encodeGoneDocument(`${view.database}/documents/${path}`, readTime));
    if (builder.isFull) yield builder.take();
  }
  if (!builder.isEmpty) yield builder.take();
}

interface JoinedName {
  readonly path: string;
  readonly inView: boolean;
  readonly inTarget: boolean;
}

/** Walks the names of a view and of a live database side by side. */
async function* joinNames(
  view: View,
  selection: Selection,
  scan: AsyncIterable<RecordBatch>,
  targetDatabase: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<JoinedName> {
  const known = flatten(view.entries(selection, signal ? { signal } : {}));
  let next = await known.next();
  for await (const batch of scan) {
    for (const { path } of readRecords(batch, targetDatabase)) {
      while (!next.done && comparePaths(next.value.path, path) < 0) {
        yield { path: next.value.path, inView: true, inTarget: false };
        next = await known.next();
      }
      const inView = !next.done && next.value.path === path;
      if (inView) next = await known.next();
      yield { path, inView, inTarget: true };
    }
  }
  for (; !next.done; next = await known.next()) yield { path: next.value.path, inView: true, inTarget: false };
}

async function* flatten(pages: AsyncIterable<readonly ViewEntry[]>): AsyncGenerator<ViewEntry> {
  for await (const page of pages) yield* page;
}

export interface RestorePreview {
  readonly create: number;
  readonly replace: number;
  readonly merge: number;
  readonly skip: number;
  readonly delete: number;
}

export interface PreviewOptions {
  readonly view: View;
  readonly source: DocumentSource;
  readonly readTime: Instant;
  readonly mode: MergeMode;
  readonly scope?: Scope;
  readonly paths?: readonly string[];
  readonly deleteExtra: boolean;
  readonly signal?: AbortSignal;
}

/** What a restore would do, counted from names alone. Nothing is written. */
export async function previewRestore(options: PreviewOptions): Promise<RestorePreview> {
  const { view, source, readTime, scope, paths, signal } = options;
  const counts = { create: 0, replace: 0, merge: 0, skip: 0, delete: 0 };
  const existing = { overwrite: 'replace', skip_existing: 'skip', merge: 'merge' } as const;
  const note = ({ inView, inTarget }: JoinedName) => {
    if (inView) counts[inTarget ? existing[options.mode] : 'create'] += 1;
    else if (options.deleteExtra && paths === undefined) counts.delete += 1;
  };
  const call = signal ? { signal } : {};
  if (paths !== undefined) {
    for await (const joined of joinPaths(view, source, paths, readTime, call)) note(joined);
    return counts;
  }
  const scan = source.scan(everything, { scope: scope ?? wholeDatabase, readTime, namesOnly: true, ...call });
  for await (const joined of joinNames(view, scope ? { scope } : {}, scan, source.database, signal)) note(joined);
  return counts;
}

async function* joinPaths(
  view: View,
  source: DocumentSource,
  paths: readonly string[],
  readTime: Instant,
  call: { signal?: AbortSignal },
): AsyncGenerator<JoinedName> {
  const sorted = [...new Set(paths)].sort(comparePaths);
  for await (const batch of source.fetch(sorted, { readTime, ...call })) {
    for (const { path, kind } of readRecords(batch, source.database)) {
      const inView = (await view.get(path, call)) !== undefined;
      yield { path, inView, inTarget: kind === recordKind.put };
    }
  }
}
