import { everything, type RecordBatch, restorePuts, type View, wholeDatabase } from '@holdfast/engine';
import { Comparison, documentsOf } from './compare-documents.ts';
import { openScratch } from './drill-target.ts';
import type { ComparingThread } from './drill-thread.ts';
import type { Proof, ShowProgress } from './proof.ts';

/** A scratch database holds at most this many documents; a larger backup is proved slice by slice. */
const sliceDocuments = 50_000;
const sliceBytes = 64 * 1024 * 1024;

/** Restores and reads back one slice after another, in a database that exists only for this drill. */
export async function proveInScratch(
  view: View,
  signal: AbortSignal,
  show: ShowProgress,
  thread: ComparingThread,
): Promise<Proof> {
  const scratch = await openScratch(view);
  const { source, target } = scratch.firestore;
  const comparison = new Comparison(thread);
  let [restored, restoreMs, compareMs] = [0, 0, 0];
  try {
    for await (const slice of slicesOf(view, signal)) {
      await scratch.clear();
      const startedMs = performance.now();
      const applied = await restorePuts({
        view: memoryView(view, slice),
        target,
        mode: 'overwrite',
        rampUp: false,
        rewriteReferences: false,
        signal,
      });
      const writtenMs = performance.now();
      const readTime = await source.snapshotTime({ signal });
      const found = source.scan(everything, { scope: wholeDatabase, readTime, signal });
      await comparison.add(documentsOf(slice, view.database), documentsOf(found, source.database));
      restored += applied.written;
      restoreMs += writtenMs - startedMs;
      compareMs += performance.now() - writtenMs;
      await show({ restored, compared: restored, bytes: comparison.bytes });
    }
  } finally {
    await scratch.close();
  }
  return { database: source.database, comparison, digests: await comparison.digests(), restored, restoreMs, compareMs };
}

/** Consecutive batches of the view, a bounded amount at a time. */
async function* slicesOf(view: View, signal: AbortSignal): AsyncGenerator<RecordBatch[]> {
  let batches: RecordBatch[] = [];
  let [documents, bytes] = [0, 0];
  for await (const batch of view.records({}, { signal })) {
    if (batches.length > 0 && (documents + batch.count > sliceDocuments || bytes + batch.bytes.length > sliceBytes)) {
      yield batches;
      [batches, documents, bytes] = [[], 0, 0];
    }
    batches.push(batch);
    documents += batch.count;
    bytes += batch.bytes.length;
  }
  yield batches;
}

/** A view over records that are already in memory, as far as restoring needs one. */
function memoryView(view: View, batches: readonly RecordBatch[]): View {
  const records = async function* () {
    yield* batches;
  };
  return Object.assign(Object.create(view) as View, { records });
}
