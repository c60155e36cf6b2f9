import { afterAll, beforeAll, expect, test } from 'vitest';
import { everything, wholeDatabase } from '../../../ports/index.ts';
import { type FirestoreHarness, fields, startFirestoreHarness, write } from '../testing/firestore-harness.ts';
import { Recorder } from '../testing/recorder.ts';

let bench: FirestoreHarness;
beforeAll(async () => {
  bench = await startFirestoreHarness();
});
afterAll(() => bench.stop());

test('what lies in a collection that only a scan finds is handed over, however old, and the time since the last proof is a gap', async () => {
  const connected = bench.connect({ projectId: 'hidden' });
  await write(connected, [{ path: 'c/a', fields: fields(1) }]);
  const provedThrough = await connected.source.snapshotTime();
  // Far from where a look around passes.
  for (let start = 0; start < 2000; start += 500)
    await write(
      connected,
      [...Array(500)].map((_, index) => ({ path: `z/${start + index}`, fields: fields(1) })),
    );
  const readTime = await connected.source.snapshotTime();
  const knownNames = () => connected.source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true });
  await write(connected, [{ path: 'z/1234/hidden/1', fields: fields(1) }]);
  const from = await connected.source.snapshotTime();
  const position = { collectionIds: ['c', 'z'], provedThrough, resumeToken: null };
  const recorder = new Recorder(connected, from, { position, knownNames });
  await write(connected, [{ path: 'c/a', fields: fields(2) }]);
  await recorder.until(() => recorder.changes().includes('put z/1234/hidden/1'));
  expect(recorder.gaps[0]).toMatchObject({ from: provedThrough, reason: expect.stringContaining('nobody knew of') });
  await write(connected, [{ path: 'z/1234/hidden/2', fields: fields(1) }]);
  await recorder.until(() => recorder.changes().includes('put z/1234/hidden/2'));
  await recorder.stop();
});
