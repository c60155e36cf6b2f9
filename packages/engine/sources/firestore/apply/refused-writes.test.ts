import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { GuardedBatch, RecordBatch, WriteGuard, WriteOutcome } from '../../../ports/index.ts';
import type { ConnectedFirestore } from '../connect.ts';
import {
  batchesOf,
  type FirestoreHarness,
  fields,
  scanAll,
  startFirestoreHarness,
  type TestRecord,
  write,
} from '../testing/firestore-harness.ts';
import { GrpcError, grpcCode } from '../transport/status.ts';

let projects = 0;
let harness: FirestoreHarness;
afterEach(() => harness.sandbox.control.clearFaults());
afterAll(() => harness.stop());
beforeAll(async () => {
  harness = await startFirestoreHarness();
});

const fresh = (more = {}): ConnectedFirestore => harness.connect({ projectId: `refused-${++projects}`, ...more });
const many = (count: number): TestRecord[] =>
  Array.from({ length: count }, (_, n) => ({ path: `c/${String(n).padStart(6, '0')}`, fields: fields(n) }));

function apply({ target }: ConnectedFirestore, records: TestRecord[], guard?: WriteGuard) {
  const batches = batchesOf(target.database, records);
  return target.apply(guard ? onlyNew(batches) : batches, {
    mode: 'overwrite',
    rampUp: false,
    ...(guard ? { guard } : {}),
  });
}

async function* onlyNew(batches: AsyncIterable<RecordBatch>): AsyncGenerator<GuardedBatch> {
  for await (const batch of batches) yield { ...batch, expected: Array(batch.count).fill(null) };
}

test.each([1, 700])('a document that others write to all the time fails alone among %i', async (count) => {
  const connected = fresh();
  harness.sandbox.control.addFault({ method: 'BatchWrite', document: 'c/000000', status: 'ABORTED' });
  const result = await apply(connected, many(count));
  expect(result).toMatchObject({ written: count - 1, failed: 1 });
  expect(result.errors).toMatchObject([{ path: 'c/000000', code: 'ABORTED' }]);
  expect(await scanAll(connected)).toHaveLength(count - 1);
});

test('a whole request that is refused for one such document is cut down to it', async () => {
  const connected = fresh();
  const { channel } = connected.target.client;
  const send = channel.unaryFramed.bind(channel);
  channel.unaryFramed = async (...call) => {
    if (Buffer.from(call[2]).includes('c/000123')) throw new GrpcError(grpcCode.ABORTED, 'Too much contention.');
    return await send(...call);
  };
  const result = await apply(connected, many(300));
  expect(result).toMatchObject({ written: 299, failed: 1 });
  expect(result.errors).toMatchObject([{ path: 'c/000123', code: 'ABORTED' }]);
});

test('a quota that runs out in the middle of a request is no failure of the documents behind', async () => {
  const connected = fresh({ retry: { attemptsMax: 3, delayBaseMs: 2, delayMaxMs: 4 } });
  harness.sandbox.control.setWriteQuota({ documentsPerSecond: 5 });
  await expect(apply(connected, many(100))).rejects.toMatchObject({
    code: 'RESTORE_QUOTA_EXCEEDED',
    message: expect.stringContaining('Quota exceeded'),
  });
  expect((await scanAll(connected)).length).toBeLessThan(100);
});

test('one document that finds no quota while others do fails alone', { tags: 'long' }, async () => {
  // Given up while there is still much of the others to send.
  const connected = fresh({ retry: { attemptsMax: 3, delayBaseMs: 1, delayMaxMs: 2 } });
  harness.sandbox.control.addFault({ method: 'BatchWrite', document: 'c/000000', status: 'RESOURCE_EXHAUSTED' });
  harness.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 4 });
  expect(await apply(connected, many(20_000))).toMatchObject({ written: 19_999, failed: 1 });
});

test('what was written is counted once where the write over a newer version finds the target away', async () => {
  const connected = fresh();
  await write(connected, many(2).slice(1));
  const told: WriteOutcome[] = [];
  const guard: WriteGuard = {
    repeatedRecords: 0,
    former: async () => undefined,
    onMismatch: async () => 'replace',
    onSettled: (outcomes) => void told.push(...outcomes),
  };
  harness.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', skip: 1, times: 6 });
  await expect(apply(connected, many(2), guard)).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  expect(told).toEqual([]);
});
