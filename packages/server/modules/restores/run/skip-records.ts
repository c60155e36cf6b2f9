import { type GuardedBatch, type RecordLocation, readRecordAt, recordKind } from '@holdfast/engine';

/** Skips the first records, which an earlier run has settled. */
export async function* skipRecords(batches: AsyncIterable<GuardedBatch>, count: number): AsyncGenerator<GuardedBatch> {
  let left = count;
  for await (const batch of batches) {
    if (left >= batch.count) {
      left -= batch.count;
      continue;
    }
    yield left === 0 ? batch : behind(batch, left);
    left = 0;
  }
}

function behind(batch: GuardedBatch, skipped: number): GuardedBatch {
  const location: RecordLocation = { kind: recordKind.put, start: 0, bodyStart: 0, end: 0 };
  for (let index = 0; index < skipped; index += 1)
    if (!readRecordAt(batch.bytes, location.end, location)) throw new Error('a batch holds fewer records than it says');
  return {
    ...batch,
    bytes: batch.bytes.subarray(location.end),
    count: batch.count - skipped,
    expected: batch.expected.slice(skipped),
  };
}
