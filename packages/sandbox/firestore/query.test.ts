import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillFast } from '../sample-data/fill-fast.ts';
import { documentFields, value } from '../sample-data/value-builder.ts';
import { database, fields, name, pathOf, query, root, set, setWrite } from './testing/fixtures.ts';
import { startWithClient } from './testing/start-with-client.ts';
import { findField, splitDocument } from './values/fields.ts';
import { decodeValue } from './values/value.ts';

const { sandbox, client, stop } = await startWithClient();
afterAll(stop);

const operators = {
  '<': 1,
  '<=': 2,
  '>': 3,
  '>=': 4,
  '==': 5,
  '!=': 6,
  contains: 7,
  in: 8,
  'contains-any': 9,
  'not-in': 10,
};

function where(fieldPath: string, op: keyof typeof operators, operand: Uint8Array): object {
  return { fieldFilter: { field: { fieldPath }, op: operators[op], value: operand } };
}

function orderBy(fieldPath: string, direction = 1): object {
  return { field: { fieldPath }, direction };
}

async function ids(collectionId: string, structuredQuery: object): Promise<string> {
  const paths = await query(client, { from: [{ collectionId }], ...structuredQuery });
  return paths.map((path) => path.slice(path.lastIndexOf('/') + 1)).join(' ');
}

describe('filters', () => {
  beforeAll(async () => {
    const values: Record<string, Uint8Array> = {
      null: value.null,
      nan: value.double(Number.NaN),
      one: value.integer(1),
      oneD: value.double(1),
      two: value.integer(2),
      big: value.integer(9007199254740993n),
      text: value.string('x'),
      list: value.array([value.integer(1), value.null]),
      map: value.map(['inner', value.integer(1)]),
    };
    for (const [id, bytes] of Object.entries(values)) await set(client, `f/${id}`, documentFields(['v', bytes]));
    await set(client, 'f/absent', fields({ other: 1 }));
  });

  test.each<[string, keyof typeof operators, Uint8Array, string]>([
    ['equality joins integers and doubles', '==', value.double(1), 'one oneD'],
    ['equality is exact above 2^53', '==', value.integer(9007199254740993n), 'big'],
    ['a double next to it is not equal', '==', value.double(9007199254740992), ''],
    ['a range stays within its type', '<', value.integer(2), 'one oneD'],
    ['a range has no upper bound but its type', '>=', value.integer(2), 'two big'],
    ['inequality leaves out null and absent fields', '!=', value.integer(1), 'nan two big text list map'],
    ['in takes any of several', 'in', value.array([value.integer(2), value.string('x')]), 'text two'],
    ['not-in leaves out null', 'not-in', value.array([value.integer(1), value.string('x')]), 'nan two big list map'],
    ['null in a list is not found', 'in', value.array([value.null, value.string('x')]), 'text'],
    ['NaN in a list is not found', 'in', value.array([value.double(Number.NaN), value.string('x')]), 'text'],
    [
      'NaN in a list leaves nothing out',
      'not-in',
      value.array([value.double(Number.NaN)]),
      'nan one oneD two big text list map',
    ],
    ['not-in with null finds nothing', 'not-in', value.array([value.null]), ''],
    ['array-contains looks at elements', 'contains', value.integer(1), 'list'],
    ['array-contains-any too', 'contains-any', value.array([value.integer(1), value.integer(9)]), 'list'],
    ['array-contains-any does not find null', 'contains-any', value.array([value.null, value.integer(9)]), ''],
    ['a whole map can be compared', '==', value.map(['inner', value.double(1)]), 'map'],
  ])('%s', async (_promise, op, operand, expected) => {
    expect(await ids('f', { where: where('v', op, operand) })).toBe(expected);
  });

  test.each<[string, number, string]>([
    ['IS_NAN', 2, 'nan'],
    ['IS_NULL', 3, 'null'],
    ['IS_NOT_NAN', 4, 'one oneD two big text list map'],
    ['IS_NOT_NULL', 5, 'nan one oneD two big text list map'],
  ])('%s', async (_name, op, expected) => {
    expect(await ids('f', { where: { unaryFilter: { field: { fieldPath: 'v' }, op } } })).toBe(expected);
  });

  test('filters nest with AND and OR, and reach into maps', async () => {
    const either = {
      compositeFilter: {
        op: 2,
        filters: [where('v.inner', '==', value.integer(1)), where('v', '==', value.string('x'))],
      },
    };
    expect(await ids('f', { where: either })).toBe('map text');
    const both = {
      compositeFilter: { op: 1, filters: [where('v', '>=', value.integer(1)), where('v', '<', value.integer(2))] },
    };
    expect(await ids('f', { where: both })).toBe('one oneD');
  });

  test('sorting by a field leaves out documents without it and breaks ties by name', async () => {
    expect(await ids('f', { orderBy: [orderBy('v', 2)] })).toBe('map list text big two oneD one nan null');
  });
});

describe('cursors, limits and projections', () => {
  beforeAll(async () => {
    for (let n = 0; n < 10; n++) await set(client, `c/d${n}`, fields({ n: n >> 1, text: 'long' }));
  });

  test.each([
    ['start at, the value included', { startAt: { values: [value.integer(3)], before: true } }, 'd6 d7 d8 d9'],
    ['start after', { startAt: { values: [value.integer(3)], before: false } }, 'd8 d9'],
    ['end before', { endAt: { values: [value.integer(1)], before: true } }, 'd0 d1'],
    ['end at', { endAt: { values: [value.integer(1)], before: false } }, 'd0 d1 d2 d3'],
    ['offset and limit', { offset: 2, limit: { value: 3 } }, 'd2 d3 d4'],
    ['a limit of zero', { limit: { value: 0 } }, ''],
    [
      'a cursor in the middle of equal values',
      { startAt: { values: [value.integer(2), value.reference(`${root}/c/d5`)], before: true } },
      'd5 d6 d7 d8 d9',
    ],
  ])('%s', async (_promise, more, expected) => {
    expect(await ids('c', { orderBy: [orderBy('n')], ...more })).toBe(expected);
  });

  test.each([
    ['ascending', 1, { startAt: { values: [value.reference(`${root}/c/d3`)], before: false } }, 'd4 d5 d6 d7 d8 d9'],
    ['descending', 2, { startAt: { values: [value.reference(`${root}/c/d3`)], before: true } }, 'd3 d2 d1 d0'],
    ['descending after', 2, { startAt: { values: [value.reference(`${root}/c/d3`)], before: false } }, 'd2 d1 d0'],
    ['descending until', 2, { endAt: { values: [value.reference(`${root}/c/d8`)], before: false } }, 'd9 d8'],
  ])('names cut %s', async (_promise, direction, more, expected) => {
    expect(await ids('c', { orderBy: [orderBy('__name__', direction)], ...more })).toBe(expected);
  });

  test('a projection returns the chosen fields alone, __name__ none at all', async () => {
    const [some] = await client.stream('RunQuery', {
      parent: root,
      structuredQuery: { from: [{ collectionId: 'c' }], select: { fields: [{ fieldPath: 'n' }] } },
    });
    expect(findField(some!.document, ['n'])).not.toBeNull();
    expect(findField(some!.document, ['text'])).toBeNull();
    const [none] = await client.stream('RunQuery', {
      parent: root,
      structuredQuery: { from: [{ collectionId: 'c' }], select: { fields: [{ fieldPath: '__name__' }] } },
    });
    expect(splitDocument(none!.document).fields).toHaveLength(0);
  });

  test('skipped documents are reported and billed', async () => {
    sandbox.control.resetCounters();
    const responses = await client.stream('RunQuery', {
      parent: root,
      structuredQuery: { from: [{ collectionId: 'c' }], offset: 4, limit: { value: 2 } },
    });
    expect(responses.at(-1)!.skippedResults).toBe(4);
    expect(sandbox.control.counters().reads).toBe(6);
  });
});

describe('the whole database', () => {
  const database = { project: 'kindless', database: 'named' };
  const root = 'projects/kindless/databases/named/documents';
  /** In the order of their names. */
  const paths = [
    'a/__id7__',
    'a/__id10__',
    'a/b',
    'a/b/sub/1',
    'a/b/sub/1/sub/2',
    'a/missing/sub/3',
    'a\u0001/1',
    'a b/1',
    'z/\uffee',
    'z/🔥',
  ];

  beforeAll(async () => {
    const writes = [...paths].reverse().map((path) => ({
      update: Buffer.concat([Buffer.from([0x0a]), lengthOf(`${root}/${path}`), Buffer.from(`${root}/${path}`)]),
    }));
    await client.unary('Commit', { database: 'projects/kindless/databases/named', writes });
  });

  function lengthOf(text: string): Buffer {
    const length = Buffer.byteLength(text);
    return length < 128 ? Buffer.from([length]) : Buffer.from([(length & 127) | 128, length >> 7]);
  }

  async function names(structuredQuery: object, parent = root): Promise<string[]> {
    const responses = await client.stream('RunQuery', { parent, structuredQuery });
    return responses
      .filter(({ document }) => document.length > 0)
      .map(({ document }) => splitDocument(document).name.slice(root.length + 1));
  }

  test('a kindless query returns every document of every depth in name order', async () => {
    expect(await names({ from: [{ allDescendants: true }] })).toEqual(paths);
    const reference = value.reference(`${root}/a/b/sub/1`);
    const rest = await names({
      from: [{ allDescendants: true }],
      startAt: { values: [reference], before: false },
      orderBy: [orderBy('__name__')],
    });
    expect(rest).toEqual(paths.slice(4));
  });

  test('below a document it returns that document’s descendants, and without descendants its children', async () => {
    expect(await names({ from: [{ allDescendants: true }] }, `${root}/a/b`)).toEqual(['a/b/sub/1', 'a/b/sub/1/sub/2']);
    expect(await names({ from: [{}] }, `${root}/a/b`)).toEqual(['a/b/sub/1']);
  });

  test('a collection group includes one collection id from everywhere', async () => {
    expect(await names({ from: [{ collectionId: 'sub', allDescendants: true }] })).toEqual([
      'a/b/sub/1',
      'a/b/sub/1/sub/2',
      'a/missing/sub/3',
    ]);
    expect(await names({ from: [{ collectionId: 'sub' }] }, `${root}/a/b`)).toEqual(['a/b/sub/1']);
  });

  test('a kindless query takes no other filters or orders than names', async () => {
    const filtered = { from: [{ allDescendants: true }], where: where('n', '==', value.integer(1)) };
    await expect(names(filtered)).rejects.toThrow(/INVALID_ARGUMENT.*kind is required/);
    const descending = { from: [{ allDescendants: true }], orderBy: [orderBy('__name__', 2)] };
    await expect(names(descending)).rejects.toThrow(/INVALID_ARGUMENT.*kind is required/);
  });

  test('collections are listed with those that have missing documents only, page by page', async () => {
    const all = await client.unary('ListCollectionIds', { parent: root });
    expect(all.collectionIds).toEqual(['a', 'a\u0001', 'a b', 'z']);
    const first = await client.unary('ListCollectionIds', { parent: root, pageSize: 3 });
    const second = await client.unary('ListCollectionIds', {
      parent: root,
      pageSize: 3,
      pageToken: first.nextPageToken,
    });
    expect([...first.collectionIds, ...second.collectionIds]).toEqual(all.collectionIds);
    expect((await client.unary('ListCollectionIds', { parent: `${root}/a/missing` })).collectionIds).toEqual(['sub']);
  });

  test('a listing shows missing documents when asked, page by page', async () => {
    const listed: string[] = [];
    let pageToken = '';
    do {
      const page = await client.unary('ListDocuments', {
        parent: root,
        collectionId: 'a',
        pageSize: 2,
        pageToken,
        showMissing: true,
      });
      listed.push(...page.documents.map((bytes: Uint8Array) => splitDocument(bytes).name.slice(root.length + 1)));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(listed).toEqual(['a/__id7__', 'a/__id10__', 'a/b', 'a/missing']);
    const plain = await client.unary('ListDocuments', { parent: root, collectionId: 'a' });
    expect(plain.documents).toHaveLength(3);
    expect(sandbox.control.database(database).documentCount).toBe(paths.length);
  });
});

describe('partitions', () => {
  test('cut a collection group into parts that together are the whole', async () => {
    fillFast(sandbox.control.database(name), { collection: 'many', documents: 5000 });
    const structuredQuery = { from: [{ collectionId: 'many', allDescendants: true }], orderBy: [orderBy('__name__')] };
    const { partitions } = await client.unary('PartitionQuery', { parent: root, structuredQuery, partitionCount: 7 });
    expect(partitions).toHaveLength(7);
    const cuts = [null, ...partitions, null];
    let total = 0;
    for (let index = 0; index + 1 < cuts.length; index++) {
      const part = { ...structuredQuery, startAt: cuts[index], endAt: cuts[index + 1] };
      const count = (await query(client, part)).length;
      expect(count).toBeGreaterThan(600);
      total += count;
    }
    expect(total).toBe(5000);
  });

  test('come page by page and refuse anything but a plain collection group', async () => {
    const structuredQuery = { from: [{ collectionId: 'many', allDescendants: true }], orderBy: [orderBy('__name__')] };
    const first = await client.unary('PartitionQuery', {
      parent: root,
      structuredQuery,
      partitionCount: 5,
      pageSize: 3,
    });
    const { nextPageToken: pageToken } = first;
    const second = await client.unary('PartitionQuery', {
      parent: root,
      structuredQuery,
      partitionCount: 5,
      pageSize: 3,
      pageToken,
    });
    expect([first.partitions.length, second.partitions.length, second.nextPageToken]).toEqual([3, 2, '']);
    const plain = { parent: root, structuredQuery: { from: [{ collectionId: 'many' }] }, partitionCount: 5 };
    await expect(client.unary('PartitionQuery', plain)).rejects.toThrow('INVALID_ARGUMENT');
  });
});

test('aggregations count, add exactly, and average', async () => {
  const big = 9007199254740993n;
  await set(client, 'agg/1', documentFields(['n', value.integer(big)], ['d', value.double(0.5)]));
  await set(client, 'agg/2', documentFields(['n', value.integer(2)], ['d', value.integer(1)]));
  const [response] = await client.stream('RunAggregationQuery', {
    parent: root,
    structuredAggregationQuery: {
      structuredQuery: { from: [{ collectionId: 'agg' }] },
      aggregations: [
        { alias: 'count', count: {} },
        { alias: 'capped', count: { upTo: { value: 1 } } },
        { alias: 'sum', sum: { field: { fieldPath: 'n' } } },
        { avg: { field: { fieldPath: 'd' } } },
      ],
    },
  });
  const results = response!.result.aggregateFields;
  expect(decodeValue(results.count)).toMatchObject({ double: 2, isInteger: true });
  expect(decodeValue(results.capped)).toMatchObject({ double: 1 });
  expect(decodeValue(results.sum)).toMatchObject({ exact: big + 2n, isInteger: true });
  expect(decodeValue(results.field_4)).toMatchObject({ double: 0.75, isInteger: false });
});

test('a large answer arrives whole and in order while documents are written into the collection', async () => {
  fillFast(sandbox.control.database(name), { collection: 'large', documents: 20_000 });
  const reading = client.stream('RunQuery', { parent: root, structuredQuery: { from: [{ collectionId: 'large' }] } });
  for (let n = 0; n < 20; n++) {
    await client.unary('Commit', { database: database, writes: [setWrite(`large/d00000${n}x`, fields({ n }))] });
  }
  const paths = (await reading).map(({ document }) => pathOf(document));
  expect(paths.filter((path) => !path.endsWith('x'))).toHaveLength(20_000);
  expect(paths).toEqual([...paths].sort());
});

test('forty readers on one connection all get the whole collection', { tags: 'long' }, async () => {
  fillFast(sandbox.control.database(name), { collection: 'shared', documents: 3000 });
  const structuredQuery = { from: [{ collectionId: 'shared' }] };
  const counts = await Promise.all(
    Array.from({ length: 40 }, async () => (await query(client, structuredQuery)).length),
  );
  expect(counts).toEqual(Array.from({ length: 40 }, () => 3000));
});
