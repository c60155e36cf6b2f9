import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ChangeBatch, wholeDatabase } from '../../../ports/index.ts';
import type { FirestoreSource } from '../source.ts';
import { type FirestoreHarness, fields, startFirestoreHarness, write } from '../testing/firestore-harness.ts';
import { FirestoreCapture } from './capture.ts';

/** A server that says nothing while nothing happens. */
let bench: FirestoreHarness;
beforeAll(async () => {
  bench = await startFirestoreHarness({ listenMode: 'as-production', listenHeartbeatMs: 2 ** 30 });
});
afterAll(() => bench.stop());

test('a silent server is asked, again and again: time goes on, and no document comes of the questions', async () => {
  const connected = bench.connect({ projectId: 'silent' });
  await write(connected, [
    { path: 'a/1', fields: fields(1) },
    { path: 'b/1', fields: fields(1) },
  ]);
  const capture = new FirestoreCapture(connected.source as FirestoreSource, { askAfterMs: 20 });
  const from = await connected.source.snapshotTime();
  const batches: ChangeBatch[] = [];
  for await (const batch of capture.capture({ from, scope: wholeDatabase, batchIntervalMs: 5 })) {
    batches.push(batch);
    if (batches.length === 6) await write(connected, [{ path: 'b/2', fields: fields(2) }]);
    if (batches.length === 12) break;
  }
  const told = batches.filter(({ records }) => records !== null);
  expect(told).toHaveLength(1);
  expect(told[0]!.records!.count).toBe(1);
  expect(batches.every(({ gap }) => gap?.isBrief ?? true)).toBe(true);
});
