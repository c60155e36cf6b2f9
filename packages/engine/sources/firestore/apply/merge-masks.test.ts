import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeDocument, encodeDocument, type JsonFields } from '../../../format/document-json.ts';
import { mergeFields } from '../../../format/same-content.ts';
import {
  batchesOf,
  type FirestoreHarness,
  scanAll,
  startFirestoreHarness,
  write,
} from '../testing/firestore-harness.ts';
import { contentOf, mergeMask } from './merge-masks.ts';

let harness: FirestoreHarness;
beforeAll(async () => {
  harness = await startFirestoreHarness();
});
afterAll(() => harness.stop());

test('merge takes a vector for a value: a map replaces it, and it replaces a map', async () => {
  const vector = (...numbers: number[]) => ({
    mapValue: {
      fields: {
        __type__: { stringValue: '__vector__' },
        value: { arrayValue: { values: numbers.map((doubleValue) => ({ doubleValue })) } },
      },
    },
  });
  const map = (fields: JsonFields) => ({ mapValue: { fields } });
  const one = { integerValue: '1' };
  const list = { arrayValue: { values: [{ doubleValue: 3 }] } };
  const cases: [there: JsonFields[string], coming: JsonFields[string]][] = [
    [vector(1, 2), map({ k: one, l: one })],
    [vector(1, 2), map({ value: one })],
    [vector(1, 2), map({ value: list })],
    [vector(1, 2), map({ deep: map({ k: one }) })],
    [vector(1, 2), { mapValue: {} }],
    [vector(1, 2), vector(3)],
    [map({ k: one }), vector(3)],
  ];
  const records = (side: 0 | 1) =>
    cases.map((both, index) => ({
      path: `c/${index}`,
      fields: { m: both[side], 'o.d': map({ inner: both[side], [side ? 'comes' : 'stays']: one }) },
    }));
  const connected = harness.connect({ projectId: 'vectors' });
  const { target } = connected;
  await write(connected, records(0));
  expect(await target.apply(batchesOf(target.database, records(1)), { mode: 'merge', rampUp: false })).toMatchObject({
    written: cases.length,
    failed: 0,
  });
  const stored = new Map((await scanAll(connected)).map(({ path, body }) => [path, decodeDocument(body).fields]));
  for (const [index, [there, coming]] of cases.entries()) {
    const expected = { m: coming, 'o.d': map({ inner: coming, comes: one, stays: one }) };
    expect(stored.get(`c/${index}`)).toEqual(expected);
    expect(mergeFields({ m: there }, { m: coming })).toEqual({ m: coming });
  }
});

test('a document of tens of thousands of empty maps holds nobody up', () => {
  const empties = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`field${n}`, { mapValue: {} }]));
  const fields = { m: { mapValue: { fields: empties } } };
  const there = contentOf(Buffer.from(encodeDocument({ name: 'p/documents/a/b', fields })));
  expect(mergeMask(there, there).length).toBe(0);
  expect(mergeMask(there, undefined).length).toBeGreaterThan(100_000);
});
