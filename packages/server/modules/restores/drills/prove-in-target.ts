import {
  type ApplyResult,
  type DocumentSource,
  EngineError,
  type EngineErrorCode,
  everything,
  restorePuts,
  type View,
  wholeDatabase,
} from '@holdfast/engine';
import { minuteMs } from '../../../platform/durations.ts';
import { Problem } from '../../../platform/problem.ts';
import { partialFailure } from '../run/partial-failure.ts';
import { Comparison, type Document, documentsOf } from './compare-documents.ts';
import { type DrillTarget, requireEmpty } from './drill-target.ts';
import type { ComparingThread } from './drill-thread.ts';
import type { Proof, ShowProgress } from './proof.ts';

export interface TargetState {
  foundEmptyAt: Date | null;
  /** Saves the time before anything is written. */
  noteEmpty(): Promise<void>;
}

/**
 * Restores into a customer's database that was found empty, and reads it back. Documents are only created: a document
 * that is already there stays and is compared like the rest. Nothing is deleted. So a drill that is repeated after a
 * crash can simply start again.
 */
export async function proveInTarget(
  view: View,
  named: DrillTarget,
  state: TargetState,
  signal: AbortSignal,
  show: ShowProgress,
  thread: ComparingThread,
): Promise<Proof> {
  const isTakenUpAgain = state.foundEmptyAt !== null;
  if (!isTakenUpAgain) {
    await requireEmpty(named, signal);
    await state.noteEmpty();
  }
  const { source, target } = named.firestore;
  const startedMs = performance.now();
  const applied = await restorePuts({
    view,
    target,
    mode: 'skip_existing',
    rampUp: named.project.writeRampUp,
    rewriteReferences: false,
    signal,
    onProgress: ({ written, skipped, bytes }) => show({ restored: written + skipped, compared: 0, bytes }),
  });
  requireTaken(applied);
  const restored = applied.written + (isTakenUpAgain ? applied.skipped : 0);
  const writtenMs = performance.now();
  const comparison = new Comparison(thread);
  const expected = reporting(documentsOf(view.records({}, { signal }), view.database), (compared) =>
    show({ restored, compared, bytes: comparison.bytes }),
  );
  await comparison.add(expected, readBack(source, signal));
  requireNoOtherWriter(named, comparison, isTakenUpAgain ? 0 : applied.skipped);
  const [restoreMs, compareMs] = [writtenMs - startedMs, performance.now() - writtenMs];
  return { database: source.database, comparison, digests: await comparison.digests(), restored, restoreMs, compareMs };
}

/** Error codes that are about the target and not about a document. */
const ownReasons: readonly string[] = [
  'RESTORE_PERMISSION_DENIED',
  'RESTORE_QUOTA_EXCEEDED',
  'SOURCE_UNAVAILABLE',
] satisfies EngineErrorCode[];

/** Throws when the target stopped taking documents: those that are missing then are no difference of the backup. */
function requireTaken({ failed, errors }: ApplyResult): void {
  if (failed === 0) return;
  const { code, message, details = {} } = partialFailure(failed, errors.slice());
  if (ownReasons.includes(code)) throw new EngineError(code as EngineErrorCode, message, { details });
}

/**
 * Throws when another writer caused all differences: then nothing is known against the backup, and nothing is proven.
 * `lyingThere` counts the documents that existed before the drill could create them.
 */
function requireNoOtherWriter(
  { project, firestore: { source } }: DrillTarget,
  { differences, othersWrites, sample }: Comparison,
  lyingThere: number,
): void {
  if (differences === 0 || othersWrites + lyingThere < differences) return;
  const paths = sample.slice(0, pathsNamedMax).map(({ path }) => path.slice(0, pathCharactersMax));
  throw new Problem(
    'INVALID_STATE',
    `Somebody else wrote into the database of ${project.name} (${source.database}) during the drill, so it proves nothing: ${paths.join(', ')}${differences > paths.length ? ' and more' : ''}. Empty a database that nobody else writes to and begin again.`,
    { details: { status: 'written_meanwhile' } },
  );
}

const pathsNamedMax = 5;
const pathCharactersMax = 200;

/** Without point-in-time recovery, a database can be read as of an hour ago at most. */
const readTimeMsMax = 30 * minuteMs;

/** All documents in path order. Only the drill should write there, so a long read may continue at a later read time. */
async function* readBack(source: DocumentSource, signal: AbortSignal): AsyncGenerator<Document> {
  let after: string | undefined;
  for (let isDone = false; !isDone; ) {
    const readTime = await source.snapshotTime({ signal });
    const untilMs = performance.now() + readTimeMsMax;
    const behind = after === undefined ? {} : { after };
    const batches = source.scan(everything, { scope: wholeDatabase, readTime, signal, ...behind });
    isDone = true;
    for await (const document of documentsOf(batches, source.database)) {
      yield document;
      after = document.path;
      isDone = performance.now() < untilMs;
      if (!isDone) break;
    }
  }
}

const reportEvery = 1000;

async function* reporting<Entry>(
  entries: AsyncIterable<Entry>,
  report: (count: number) => Promise<void>,
): AsyncGenerator<Entry> {
  let count = 0;
  for await (const entry of entries) {
    yield entry;
    if (++count % reportEvery === 0) await report(count);
  }
}
