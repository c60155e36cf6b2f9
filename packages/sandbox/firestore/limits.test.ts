import { afterAll, describe, expect, test } from 'vitest';
import { oddIds } from '../sample-data/edge-cases.ts';
import { documentFields, value } from '../sample-data/value-builder.ts';
import { database, documentBytes, fields, query, root, set, setWrite } from './testing/fixtures.ts';
import { startWithClient } from './testing/start-with-client.ts';
import { WireWriter } from './values/wire.ts';

const { sandbox, client, stop } = await startWithClient();
afterAll(stop);

/** Size of a document `l/d` with one string field `s` of `length` letters, by the documented formula. */
/**
 * Of the document `l/d` whose field `s` is an array of two strings, because one string alone may not fill the whole
 * document.
 */
function sizeOf(length: number): number {
  return 16 + 2 + 2 + (1 + 1 + length + 2) + 32;
}

test('a document of exactly 1 MiB by Firestore’s formula is stored, one byte more is refused', async () => {
  const most = 1_048_576 - sizeOf(0);
  const strings = (length: number) =>
    documentFields(['s', value.array([value.string('x'.repeat(1_000)), value.string('x'.repeat(length - 1_000))])]);
  await set(client, 'l/d', strings(most));
  await expect(set(client, 'l/d', strings(most + 1))).rejects.toThrow(
    /INVALID_ARGUMENT.*size \(1,048,577 bytes\) exceeds the maximum allowed size of 1,048,576 bytes/,
  );
});

test('a million empty strings are a legal document of 5 MiB once their field is exempt from the indexes', {
  tags: 'long',
}, async () => {
  const element = Buffer.from([0x0a, 3, 0x8a, 1, 0]);
  const strings = (count: number) =>
    documentFields(['strings', new WireWriter().delimited(9, Buffer.alloc(count * element.length, element)).finish()]);
  await expect(set(client, 'l/strings', strings(1_000_000))).rejects.toThrow('too many index entries');
  sandbox.control.exemptFromIndexes({ project: 'demo', database: '(default)' }, 'strings');
  expect(strings(1_000_000).length).toBeGreaterThan(4 * 1024 * 1024);
  await set(client, 'l/strings', strings(1_000_000));
  await expect(set(client, 'l/strings', strings(1_048_576))).rejects.toThrow('exceeds the maximum allowed size');
});

test('a request above 10 MiB is refused', async () => {
  const writes = Array.from({ length: 11 }, (_, index) =>
    setWrite(`big/d${index}`, fields({ s: 'x'.repeat(1_000_000) })),
  );
  await expect(client.unary('Commit', { database: database, writes })).rejects.toThrow(
    /INVALID_ARGUMENT.*payload size/,
  );
  expect(await query(client, { from: [{ collectionId: 'big' }] })).toEqual([]);
});

describe('depth', () => {
  const nested = (depth: number): Uint8Array => {
    let inner = value.map();
    for (let level = 1; level < depth; level++)
      inner = level % 2 === 0 ? value.array([inner]) : value.map(['m', inner]);
    return inner;
  };

  test('twenty levels are stored', async () => {
    await set(client, 'depth/ok', documentFields(['deep', nested(20)]));
  });

  test('twenty-one levels are refused', async () => {
    await expect(set(client, 'depth/no', documentFields(['deep', nested(21)]))).rejects.toThrow('INVALID_ARGUMENT');
  });
});

test('an array directly in an array is refused, one inside a map in an array is fine', async () => {
  const inner = value.array([value.integer(1)]);
  await expect(set(client, 'arrays/no', documentFields(['a', value.array([inner])]))).rejects.toThrow(
    'INVALID_ARGUMENT',
  );
  await set(client, 'arrays/yes', documentFields(['a', value.array([value.map(['m', inner])])]));
});

test.each(oddIds.map((id) => [id.length > 40 ? `${id.slice(0, 4)}… (${id.length})` : id, id]))(
  'the odd id %j is a document id like any other',
  async (_label, id) => {
    await set(client, `odd/${id}`, fields({ n: 1 }));
    const [got] = await client.stream('BatchGetDocuments', { database: database, documents: [`${root}/odd/${id}`] });
    expect(got!.found.length).toBeGreaterThan(0);
  },
);

test.each([
  ['.'],
  ['..'],
  ['__reserved__'],
  ['__id__'],
  ['__id07__'],
  ['__id9223372036854775808__'],
  ['__id0__'],
  [''],
  ['x'.repeat(1501)],
  ['é'.repeat(751)],
])('the id %j is refused', async (id) => {
  await expect(set(client, `odd/${id}`, fields({ n: 1 }))).rejects.toThrow('INVALID_ARGUMENT');
});

test.each([['__reserved__'], [''], ['x'.repeat(1501)]])('the field name %j is refused', async (name) => {
  await expect(set(client, 'names/d', documentFields([name, value.null]))).rejects.toThrow('INVALID_ARGUMENT');
});

const vector = value.map(['__type__', value.string('__vector__')], ['value', value.array([value.double(1)])]);

test.each([
  ['a value without a type', new Uint8Array(0)],
  ['a value of two types', Buffer.concat([value.integer(1), value.null])],
  ['a string that is not UTF-8', new WireWriter().delimited(17, Uint8Array.of(0xff)).finish()],
  ['a geo point off the globe', value.geoPoint(91, 0)],
  ['a timestamp after the year 9999', value.timestampParts(253_402_300_800, 0)],
  ['a reference to a collection', value.reference(`${root}/only`)],
  ['a vector without numbers', value.map(['__type__', value.string('__vector__')], ['value', value.array([])])],
  ['a vector in an array', value.array([vector])],
  ['bytes of more than all but 89 of a mebibyte', value.bytes(new Uint8Array(1_048_488))],
  ['a string of more than all but 89 of a mebibyte', value.string('x'.repeat(1_048_488))],
  ['an array with 40,001 index entries', value.array(Array.from({ length: 40_001 }, () => value.null))],
])('%s is refused', async (_what, bytes) => {
  await expect(set(client, 'values/d', documentFields(['v', bytes]))).rejects.toThrow('INVALID_ARGUMENT');
});

test('a field given twice is refused rather than silently halved', async () => {
  const twice = Buffer.concat([fields({ n: 1 }), fields({ n: 2 })]);
  await expect(set(client, 'twice/d', twice)).rejects.toThrow('INVALID_ARGUMENT');
});

describe('BatchWrite', () => {
  test('takes 500 writes and refuses 501', async () => {
    const writes = Array.from({ length: 501 }, (_, index) => setWrite(`bw/d${index}`, fields({ n: index })));
    const { status } = await client.unary('BatchWrite', { database: database, writes: writes.slice(0, 500) });
    expect(status.every((each: { code: number }) => each.code === 0)).toBe(true);
    await expect(client.unary('BatchWrite', { database: database, writes })).rejects.toThrow('INVALID_ARGUMENT');
  });

  test('gives each write its own status and stores the good ones', async () => {
    const writes = [
      setWrite('mixed/good', fields({ n: 1 })),
      { update: documentBytes('mixed/absent', fields({ n: 1 })), currentDocument: { exists: true } },
      setWrite('mixed/bad', documentFields(['a', value.array([value.array([])])])),
    ];
    const { status, writeResults } = await client.unary('BatchWrite', { database: database, writes });
    expect(status.map((each: { code: number }) => each.code)).toEqual([0, 5, 3]);
    expect(writeResults).toHaveLength(3);
    expect(await query(client, { from: [{ collectionId: 'mixed' }] })).toEqual(['mixed/good']);
  });

  test('refuses two writes of one document', async () => {
    const writes = [setWrite('dup/d', fields({ n: 1 })), setWrite('dup/d', fields({ n: 2 }))];
    await expect(client.unary('BatchWrite', { database: database, writes })).rejects.toThrow('INVALID_ARGUMENT');
  });
});

test('a commit that fails in its last write stores none of the others', async () => {
  const writes = [
    setWrite('atomic/first', fields({ n: 1 })),
    { update: documentBytes('atomic/absent', fields({ n: 1 })), currentDocument: { exists: true } },
  ];
  await expect(client.unary('Commit', { database: database, writes })).rejects.toThrow('NOT_FOUND');
  expect(await query(client, { from: [{ collectionId: 'atomic' }] })).toEqual([]);
});
