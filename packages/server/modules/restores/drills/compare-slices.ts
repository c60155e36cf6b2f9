import { createHash, type Hash } from 'node:crypto';
import {
  type ConnectedFirestore,
  comparePaths,
  documentContent,
  everything,
  type PathRange,
  type RecordBatch,
  readRecords,
  restorePuts,
  type View,
  wholeDatabase,
} from '@holdfast/engine';
import type { StoredDrillReport } from '../tables.ts';

/** A scratch database holds so many documents at a time; a larger backup is proved slice by slice. */
const sliceDocuments = 50_000;
const sliceBytes = 64 * 1024 * 1024;
const mismatchesMax = 100;

export type Show = (percent: number, documents: number, bytes: number) => Promise<void>;

export interface Scratch {
  firestore: ConnectedFirestore;
  /** Empties it between slices; absent for a database that is not ours to empty. */
  clear?: () => void;
  close(): Promise<void>;
}

/** Restores and reads back one slice after the other; every document is compared, and all of them are hashed in order. */
export async function compareInSlices(
  view: View,
  expected: number,
  scratch: Scratch,
  signal: AbortSignal,
  show: Show,
): Promise<StoredDrillReport> {
  const tally = { restored: 0, matched: 0, bytes: 0, restoreMs: 0, mismatches: [] as string[] };
  const hashes: [Hash, Hash] = [createHash('sha256'), createHash('sha256')];
  for await (const slice of slicesOf(view, signal)) {
    scratch.clear?.();
    const startedMs = performance.now();
    const applied = await restorePuts({
      view: slice.view,
      target: scratch.firestore.target,
      mode: 'overwrite',
      rampUp: false,
      rewriteReferences: false,
      signal,
    });
    tally.restoreMs += performance.now() - startedMs;
    tally.restored += applied.written;
    await compareSlice(slice, view.database, scratch, hashes, tally, signal);
    await show(Math.min(99, Math.floor((100 * tally.restored) / Math.max(1, expected))), tally.restored, tally.bytes);
  }
  return {
    documentsExpected: expected,
    documentsRestored: tally.restored,
    documentsMatched: tally.matched,
    mismatches: tally.mismatches,
    sha256Expected: hashes[0].digest('hex'),
    sha256Restored: hashes[1].digest('hex'),
    restoreDurationMs: Math.round(tally.restoreMs),
  };
}

interface Slice {
  batches: RecordBatch[];
  range: PathRange;
  view: View;
}

/** Consecutive batches of the view, a bounded amount at a time, each as a small view of its own. */
async function* slicesOf(view: View, signal: AbortSignal): AsyncGenerator<Slice> {
  let batches: RecordBatch[] = [];
  let [documents, bytes] = [0, 0];
  let start: string | null = null;
  const take = (end: string | null): Slice => {
    const held = batches;
    const slice = { batches: held, range: { start, end }, view: memoryView(view, held) };
    [batches, documents, bytes, start] = [[], 0, 0, end];
    return slice;
  };
  for await (const batch of view.records({}, { signal })) {
    if (batches.length > 0 && (documents + batch.count > sliceDocuments || bytes + batch.bytes.length > sliceBytes))
      yield take(batch.firstPath);
    batches.push(batch);
    documents += batch.count;
    bytes += batch.bytes.length;
  }
  yield take(null);
}

/** What restoring needs of a view, over records that are already in memory. */
function memoryView(view: View, batches: readonly RecordBatch[]): View {
  const records = async function* () {
    yield* batches;
  };
  return Object.assign(Object.create(view) as View, { records });
}

async function compareSlice(
  slice: Slice,
  database: string,
  scratch: Scratch,
  hashes: [Hash, Hash],
  tally: { matched: number; bytes: number; mismatches: string[] },
  signal: AbortSignal,
): Promise<void> {
  const { source } = scratch.firestore;
  const readTime = await source.snapshotTime({ signal });
  const restored = documentsOf(
    source.scan(scratch.clear ? everything : slice.range, { scope: wholeDatabase, readTime, signal }),
    source.database,
  );
  let next = await restored.next();
  const report = (path: string) => {
    if (tally.mismatches.length < mismatchesMax) tally.mismatches.push(path);
  };
  // A database that is not ours may hold documents of its own; ours must hold the backup's and no other.
  const extra = ({ path, content }: { path: string; content: Uint8Array }) => {
    if (!scratch.clear) return;
    hashes[1].update(path).update('\0').update(content);
    report(path);
  };
  for (const batch of slice.batches) {
    for (const { path, body } of readRecords(batch, database)) {
      const content = documentContent(body);
      tally.bytes += body.length;
      hashes[0].update(path).update('\0').update(content);
      for (; !next.done && comparePaths(next.value.path, path) < 0; next = await restored.next()) extra(next.value);
      if (next.done || next.value.path !== path) {
        report(path);
        continue;
      }
      hashes[1].update(next.value.path).update('\0').update(next.value.content);
      if (Buffer.compare(content, next.value.content) === 0) tally.matched++;
      else report(path);
      next = await restored.next();
    }
  }
  for (; !next.done; next = await restored.next()) extra(next.value);
}

async function* documentsOf(
  batches: AsyncIterable<RecordBatch>,
  database: string,
): AsyncGenerator<{ path: string; content: Uint8Array }> {
  for await (const batch of batches)
    for (const { path, body } of readRecords(batch, database)) yield { path, content: documentContent(body) };
}
