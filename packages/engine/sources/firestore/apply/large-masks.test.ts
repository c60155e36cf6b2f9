import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeDocument, type JsonFields } from '../../../format/document-json.ts';
import {
  batchesOf,
  type FirestoreHarness,
  scanAll,
  startFirestoreHarness,
  write,
} from '../testing/firestore-harness.ts';

let harness: FirestoreHarness;
beforeAll(async () => {
  harness = await startFirestoreHarness();
});
afterAll(() => harness.stop());

const longName = (letter: string) => letter.repeat(1_400);
/** Below so many maps with names of 1,400 bytes: each field's path is that much longer than the field. */
function below(levels: number, fields: JsonFields): JsonFields {
  return levels === 0 ? fields : { [longName('a')]: { mapValue: { fields: below(levels - 1, fields) } } };
}
const numbered = (count: number, prefix: string, value: JsonFields[string]): JsonFields =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, value]));
const one = { integerValue: '1' };

async function merged(projectId: string, there: JsonFields | undefined, coming: JsonFields) {
  const connected = harness.connect({ projectId });
  const { target } = connected;
  if (there) await write(connected, [{ path: 'c/b', fields: there }]);
  const records = ['a', 'b', 'c'].map((id) => ({ path: `c/${id}`, fields: id === 'b' ? coming : { n: one } }));
  const result = await target.apply(batchesOf(target.database, records), { mode: 'merge', rampUp: false });
  const stored = new Map((await scanAll(connected)).map(({ path, body }) => [path, decodeDocument(body).fields]));
  expect([stored.get('c/a'), stored.get('c/c')]).toEqual([{ n: one }, { n: one }]);
  return { result, stored: stored.get('c/b') };
}

test('a document whose mask is larger than a request is merged where nothing is that it would spare', async () => {
  const coming = below(10, numbered(1_500, 'new', one));
  const { result, stored } = await merged('masks-new', undefined, coming);
  expect(result).toMatchObject({ written: 3, failed: 0 });
  expect(stored).toEqual(coming);
});

test('one that would have to name too many fields fails alone, and says why', async () => {
  const there = below(10, numbered(10, 'old', one));
  const { result, stored } = await merged('masks-both', there, below(10, numbered(1_500, 'new', one)));
  expect(result).toMatchObject({ written: 2, failed: 1 });
  expect(result.errors).toMatchObject([{ path: 'c/b', message: expect.stringContaining('overwrite') }]);
  expect(stored).toEqual(there);
});

test('ten thousands of fields and empty maps below long names fill no memory with their paths', {
  tags: 'long',
}, async () => {
  const coming = below(18, numbered(20_000, 'm', { mapValue: {} }));
  const { result } = await merged('masks-empty', coming, coming);
  expect(result).toMatchObject({ written: 3, failed: 0 });
  const many = below(18, numbered(20_000, 'm', one));
  expect((await merged('masks-many', below(18, { old: one }), many)).result).toMatchObject({ written: 2, failed: 1 });
});
