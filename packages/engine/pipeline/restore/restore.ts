import { encodeDeletedDocument } from '../../ports/deleted-document.ts';
import { type DocumentSource, type Scope, wholeDatabase } from '../../ports/document-source.ts';
import {
  type ApplyCounts,
  type ApplyOptions,
  type ApplyProgress,
  type ApplyResult,
  type DocumentTarget,
  type GuardedBatch,
  isLater,
  type MergeMode,
  type Version,
} from '../../ports/document-target.ts';
import type { Instant } from '../../ports/instant.ts';
import { comparePaths, everything, type PathRange } from '../../ports/path-order.ts';
import { type RecordBatch, recordKind } from '../../ports/record.ts';
import { readRecords } from '../segments/read-records.ts';
import { RecordBatchBuilder } from '../segments/record-batch-builder.ts';
import type { Selection } from '../view/selection.ts';
import { updateTimeOf, type View, type ViewEntry } from '../view/view.ts';
import { HeldCollections } from './held-collections.ts';

export interface RestoreOptions extends Omit<ApplyOptions, 'rewriteReferencesFrom'> {
  readonly view: View;
  readonly target: DocumentTarget;
  /** What to restore; absent: everything. */
  readonly scope?: Scope;
  /** Only this range of paths; absent: all. */
  readonly range?: PathRange;
  /** Continue after this path; everything before it was done by an earlier attempt. */
  readonly after?: string;
  /** References into the backed-up database are rewritten to the target database. */
  readonly rewriteReferences: boolean;
  /**
   * The target's state when the restore began, within the scope. Only these versions are overwritten. Needs a guard.
   */
  readonly before?: View;
}

/** Writes the view's documents. Nothing is deleted. */
export async function restorePuts(options: RestoreOptions): Promise<ApplyResult> {
  const { view, scope = wholeDatabase, range, after, before, signal } = options;
  const selection: Selection = { scope, ...(range ? { range } : {}), ...(after === undefined ? {} : { after }) };
  const read = signal ? { signal } : {};
  const records = view.records(selection, read);
  const batches = before ? withVersions(records, view.database, before.entries(selection, read)) : records;
  return await applyTo(options, batches);
}

export interface ExtraDeletesOptions extends RestoreOptions {
  /**
   * Used without a safety backup: the target's own names. Deletes only documents that were last changed before `began`.
   */
  readonly live?: { readonly source: DocumentSource; readonly readTime: Instant; readonly began: Version };
}

/**
 * Deletes documents that the target held when the restore began and that the view does not have. Documents that
 * somebody has made or changed since are not touched: every delete names the version it may delete. Documents that
 * somebody has deleted since are not counted, because nothing is done to them.
 */
export async function restoreDeletes(options: ExtraDeletesOptions): Promise<ApplyResult> {
  const { onProgress } = options;
  const reporting = onProgress ? { onProgress: (progress: ApplyProgress) => onProgress(withoutGone(progress)) } : {};
  return withoutGone(await applyTo({ ...options, ...reporting }, extraDeletes(options)));
}

function withoutGone<Counts extends ApplyCounts>(counts: Counts): Counts {
  return { ...counts, skipped: 0 };
}

async function applyTo(options: RestoreOptions, batches: AsyncIterable<RecordBatch>): Promise<ApplyResult> {
  const { view, target, rewriteReferences, mode, rampUp, pace, signal, stop, guard, isInquiry } = options;
  const { onProgress, onAhead } = options;
  return await target.apply(batches, {
    mode,
    rampUp,
    ...(rewriteReferences && view.database !== target.database ? { rewriteReferencesFrom: view.database } : {}),
    ...(pace ? { pace } : {}),
    ...(signal ? { signal } : {}),
    ...(stop ? { stop } : {}),
    ...(guard ? { guard } : {}),
    ...(isInquiry ? { isInquiry } : {}),
    ...(onProgress ? { onProgress } : {}),
    ...(onAhead ? { onAhead } : {}),
  });
}

/** Adds to each record the version that the target held. Both sides are in path order. */
async function* withVersions(
  batches: AsyncIterable<RecordBatch>,
  database: string,
  before: AsyncIterable<readonly ViewEntry[]>,
): AsyncGenerator<GuardedBatch> {
  const known = flatten(before);
  let next = await known.next();
  for await (const batch of batches) {
    const expected: (Version | null)[] = [];
    for (const { path } of readRecords(batch, database)) {
      while (!next.done && comparePaths(next.value.path, path) < 0) next = await known.next();
      expected.push(!next.done && next.value.path === path ? versionOf(next.value) : null);
    }
    yield { ...batch, expected };
  }
  await known.return(undefined);
}

function versionOf(entry: ViewEntry): Version {
  return { seconds: entry.updateSeconds, nanos: entry.updateNanos };
}

async function* extraDeletes(options: ExtraDeletesOptions): AsyncGenerator<GuardedBatch> {
  const { view, scope = wholeDatabase, after, before, live, guard, signal } = options;
  const began = live?.began ?? guard?.began;
  const selection: Selection = { scope, ...(after === undefined ? {} : { after }) };
  const read = signal ? { signal } : {};
  const there = before ? flatten(before.entries(selection, read)) : liveEntries(options);
  const builder = new RecordBatchBuilder();
  let expected: Version[] = [];
  const take = (): GuardedBatch => {
    const batch = { ...builder.take(), expected };
    expected = [];
    return batch;
  };
  for await (const { entry, isExtra } of joinNames(view, selection, there, signal)) {
    if (!isExtra || entry === undefined) continue;
    const version = versionOf(entry);
    // The safety backup may be later than the beginning, if its first attempt failed.
    const isTheirs = began !== undefined && isLater(version, began);
    builder.add(
      recordKind.delete,
      entry.path,
      encodeDeletedDocument(`${view.database}/documents/${entry.path}`, updateTimeOf(entry)),
    );
    // An outdated version: the guard is shown the current one and counts it.
    expected.push(isTheirs ? began : version);
    if (builder.isFull) yield take();
  }
  if (!builder.isEmpty) yield take();
}

async function* liveEntries({
  scope = wholeDatabase,
  after,
  live,
  signal,
}: ExtraDeletesOptions): AsyncGenerator<ViewEntry> {
  if (!live) throw new Error('deletes need to know what the target holds');
  const scan = live.source.scan(everything, {
    scope,
    readTime: live.readTime,
    namesOnly: true,
    ...(after === undefined ? {} : { after }),
    ...(signal ? { signal } : {}),
  });
  yield* namesOf(scan, live.source.database);
}

async function* namesOf(batches: AsyncIterable<RecordBatch>, database: string): AsyncGenerator<ViewEntry> {
  for await (const batch of batches)
    for (const { path, updateSeconds, updateNanos, body } of readRecords(batch, database))
      yield { path, updateSeconds, updateNanos, size: body.length };
}

interface JoinedName {
  readonly inView: boolean;
  /** It is only in the target, and the backup is known not to hold it. */
  readonly isExtra: boolean;
  /** The target's side; undefined when the document is only in the view. */
  readonly entry: ViewEntry | undefined;
}

/** Walks the names of a view and of a database side by side. */
async function* joinNames(
  view: View,
  selection: Selection,
  there: AsyncGenerator<ViewEntry>,
  signal: AbortSignal | undefined,
): AsyncGenerator<JoinedName> {
  const known = flatten(view.entries(selection, signal ? { signal } : {}));
  const held = view.body?.importedFrom === undefined ? undefined : new HeldCollections(view, selection);
  let next = await known.next();
  for await (const entry of there) {
    const { path } = entry;
    while (!next.done && comparePaths(next.value.path, path) < 0) {
      held?.pass(next.value.path);
      yield { inView: true, isExtra: false, entry: undefined };
      next = await known.next();
    }
    const inView = !next.done && next.value.path === path;
    if (inView) {
      held?.pass(path);
      next = await known.next();
    }
    const isExtra = !inView && (!held || (await held.holds(path, next.done ? undefined : next.value, signal)));
    yield { inView, isExtra, entry };
  }
  for (; !next.done; next = await known.next()) yield { inView: true, isExtra: false, entry: undefined };
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
  readonly deleteExtra: boolean;
  readonly signal?: AbortSignal;
}

/** What a restore would do, counted by names alone. Nothing is written. */
export async function previewRestore(options: PreviewOptions): Promise<RestorePreview> {
  const { view, source, readTime, scope = wholeDatabase, signal } = options;
  const counts = { create: 0, replace: 0, merge: 0, skip: 0, delete: 0 };
  const existing = { overwrite: 'replace', skip_existing: 'skip', merge: 'merge' } as const;
  const call = signal ? { signal } : {};
  const scan = namesOf(source.scan(everything, { scope, readTime, namesOnly: true, ...call }), source.database);
  for await (const { inView, isExtra, entry } of joinNames(view, { scope }, scan, signal)) {
    if (inView) counts[entry ? existing[options.mode] : 'create'] += 1;
    else if (isExtra && options.deleteExtra && scope.documents === undefined) counts.delete += 1;
  }
  return counts;
}
