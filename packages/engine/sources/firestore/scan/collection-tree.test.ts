// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FirestoreHarness, fields, startFirestoreHarness, write } from '../testing/firestore-harness.ts';

let harness: FirestoreHarness;
beforeAll(async () => {
  harness = await startFirestoreHarness();
});
afterAll(() => harness.stop());

test('of very many root collections some are counted; the others share the rest of an exact sum, and say so', async () => {
  const many = harness.connect({ projectId: 'many' });
  const writes = Array.from({ length: 2200 }, (_, n) => ({ path: `c${10_000 + n}/1`, fields: fields(n) }));
  await write(many, [...writes, { path: 'c12199/2', fields: fields(0) }]);
  const readTime = await many.source.snapshotTime();
  harness.sandbox.control.resetCounters();
  const tree = await many.source.collectionTree({ readTime });
  expect(tree.map(({ path }) => path)).toEqual(writes.map(({ path }) => path.slice(0, -2)));
  expect(tree.filter(({ isSampled }) => isSampled)).toHaveLength(200);
  expect(tree[0]).toEqual({ path: 'c10000', documentCount: 1, isSampled: false });
  expect(tree.reduce((sum, { documentCount }) => sum + documentCount, 0)).toBe(2201);
  expect(harness.sandbox.control.counters().methods.RunAggregationQuery!.calls).toBeLessThanOrEqual(4001);
});
