import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fillFast } from '../../../../sandbox/index.ts';
import { comparePaths, everything, isEngineError, type Scope, wholeDatabase } from '../../../ports/index.ts';
import type { ConnectedFirestore } from '../connect.ts';
import {
  collect,
  type FirestoreHarness,
  fields,
  scanAll,
  startFirestoreHarness,
  storedIn,
  write,
} from '../testing/firestore-harness.ts';

const documents = 5_000;
const name = { project: 'big', database: '(default)' };
let harness: FirestoreHarness;
let big: ConnectedFirestore;

beforeAll(async () => {
  harness = await startFirestoreHarness();
  fillFast(harness.sandbox.control.database(name), { collection: 'items', documents: documents });
  big = harness.connect({ projectId: 'big' });
});
afterAll(() => harness.stop());
afterEach(() => harness.sandbox.control.clearFaults());

const pathsOf = (stored: readonly { path: string }[]) => stored.map(({ path }) => path);

describe('what a scan holds', () => {
  const paths = [
    'users/ada',
    'users/ada/orders/1',
    'users/ada/orders/1/lines/x',
    'users/ada-',
    'users/__id7__',
    'users/__id-3__',
    'ghosts/nobody/letters/1',
    'ghosts/nobody/letters/1/deep/down',
    'users-old/😀',
    'users-old/\uffee',
    'logs/1',
    'logs/1/lines/1',
  ];
  let demo: ConnectedFirestore;
  beforeAll(async () => {
    demo = harness.connect({ projectId: 'structure' });
    await write(
      demo,
      paths.map((path, index) => ({ path, fields: fields(index) })),
    );
  });
  const scoped = async (scope: Partial<Scope>) =>
    pathsOf(await scanAll(demo, { scope: { ...wholeDatabase, ...scope } }));

  test('every document once in the order of paths, under missing parents too', async () => {
    expect(pathsOf(await scanAll(demo))).toEqual([...paths].sort(comparePaths));
  });

  test('chosen collections with and without what lies below, and without the excluded ones', async () => {
    const sorted = [...paths].sort(comparePaths);
    expect(await scoped({ collections: ['users'] })).toEqual(sorted.filter((path) => path.startsWith('users/')));
    expect(await scoped({ collections: ['users', 'users/ada/orders'], includeSubcollections: false })).toEqual([
      'users/__id-3__',
      'users/__id7__',
      'users/ada',
      'users/ada/orders/1',
      'users/ada-',
    ]);
    expect(await scoped({ collections: ['ghosts/nobody/letters'] })).toHaveLength(2);
    const rest = await scoped({ excludeCollections: ['logs', 'users/ada/orders'] });
    expect(rest).toEqual(sorted.filter((path) => !/^(logs|users\/ada\/orders)\//.test(path)));
  });

  test('a scan and a count that begin behind a document have what comes after it, its descendants too', async () => {
    const sorted = [...paths].sort(comparePaths);
    const readTime = await demo.source.snapshotTime();
    for (const after of ['users/ada', 'users/__id7__', 'ghosts/nobody', 'a/a', 'z/z']) {
      const options = { scope: wholeDatabase, readTime, after };
      const expected = sorted.filter((path) => comparePaths(path, after) > 0);
      expect(pathsOf(storedIn(await collect(demo.source.scan(everything, options))))).toEqual(expected);
      expect(await demo.source.count(everything, options)).toBe(expected.length);
    }
  });

  test('names only: the same names and update times, no fields', async () => {
    const names = await scanAll(demo, { namesOnly: true });
    const whole = await scanAll(demo);
    expect(pathsOf(names)).toEqual(pathsOf(whole));
    expect(names.every(({ content }) => content === '')).toBe(true);
    expect(whole.every(({ content }) => content !== '')).toBe(true);
  });

  test('documents as they were at the read time, whatever happened since', async () => {
    const before = await scanAll(demo);
    const readTime = await demo.source.snapshotTime();
    const then = await demo.source.count(everything, { scope: wholeDatabase, readTime });
    await write(demo, [{ path: 'users/ada' }, { path: 'users/new', fields: fields(99) }]);
    expect(await scanAll(demo, { readTime })).toEqual(before);
    expect(await demo.source.count(everything, { scope: wholeDatabase, readTime })).toBe(then);
    expect(pathsOf(await scanAll(demo))).not.toContain('users/ada');
    await write(demo, [{ path: 'users/ada', fields: fields(0) }, { path: 'users/new' }]);
  });

  test('the count is the number of documents, for every kind of scope', async () => {
    const readTime = await demo.source.snapshotTime();
    for (const scope of [
      wholeDatabase,
      { ...wholeDatabase, collections: ['users'] },
      { collections: ['users', 'users/ada/orders'], includeSubcollections: false, excludeCollections: [] },
      { ...wholeDatabase, excludeCollections: ['logs'] },
    ]) {
      const documents = await scanAll(demo, { scope, readTime });
      expect(await demo.source.count(everything, { scope, readTime })).toBe(documents.length);
    }
  });

  test('a count that takes the database too long is taken in pieces, and is exact', async () => {
    const readTime = await big.source.snapshotTime();
    harness.sandbox.control.addFault({ method: 'RunAggregationQuery', status: 'DEADLINE_EXCEEDED', times: 1 });
    expect(await big.source.count(everything, { scope: wholeDatabase, readTime })).toBe(documents);
    harness.sandbox.control.clearFaults();
    harness.sandbox.control.addFault({ method: 'RunAggregationQuery', status: 'DEADLINE_EXCEEDED', times: 1 });
    const own = { collections: ['items'], includeSubcollections: false, excludeCollections: [] };
    const range = { start: 'items/d000000100', end: 'items/d000004100' };
    expect(await big.source.count(range, { scope: own, readTime, after: 'items/d000000199' })).toBe(3_900);
    expect(harness.sandbox.control.counters().methods.RunAggregationQuery?.calls ?? 0).toBeGreaterThan(5);
  });

  test.each(['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'INTERNAL', 'DEADLINE_EXCEEDED', 'UNIMPLEMENTED'] as const)(
    'a count over all collections that is refused with %s is the sum over the groups',
    async (status) => {
      const readTime = await demo.source.snapshotTime();
      const scope = wholeDatabase;
      const expected = await demo.source.count(everything, { scope, readTime });
      const range = { start: 'users', end: null };
      const inRange = await demo.source.count(range, { scope, readTime });
      for (const [asked, count] of [
        [everything, expected],
        [range, inRange],
      ] as const) {
        harness.sandbox.control.resetCounters();
        harness.sandbox.control.addFault({ method: 'RunAggregationQuery', status, times: 1 });
        expect(await demo.source.count(asked, { scope, readTime })).toBe(count);
        expect(harness.sandbox.control.counters().methods.RunAggregationQuery?.calls).toBeGreaterThan(2);
        harness.sandbox.control.clearFaults();
      }
    },
  );

  test('with point-in-time recovery a backup is of a whole minute, which stays readable', async () => {
    const lasting = harness.connect({ projectId: 'lasting' });
    const database = { project: 'lasting', database: '(default)' };
    expect(await lasting.source.snapshotTime({ isLasting: true })).not.toMatch(/:00\.000000000Z$/);
    harness.sandbox.control.setPointInTimeRecovery(database, true);
    await write(lasting, [{ path: 'a/b', fields: fields(1) }]);
    harness.sandbox.control.moveClock(database, 2 * 60_000);
    const readTime = await lasting.source.snapshotTime({ isLasting: true });
    expect(readTime).toMatch(/:00\.000000000Z$/);
    expect(await lasting.source.snapshotTime()).not.toBe(readTime);
    harness.sandbox.control.moveClock(database, 3 * 3_600_000);
    expect(await scanAll(lasting, { readTime })).toHaveLength(1);
  });

  test('otherwise it is of a whole millisecond that misses nothing written before', async () => {
    const exact = harness.connect({ projectId: 'exact' });
    for (let index = 0; index < 20; index += 1) {
      await write(exact, [{ path: `a/${index}`, fields: fields(index) }]);
      const readTime = await exact.source.snapshotTime({ isLasting: true });
      expect(readTime).toMatch(/\.\d{3}000000Z$/);
      expect(await scanAll(exact, { readTime })).toHaveLength(index + 1);
    }
  });

  test('a refusal that speaks of age is none while the read time is young', async () => {
    const readTime = await demo.source.snapshotTime();
    harness.sandbox.control.addFault({
      method: 'RunQuery',
      status: 'FAILED_PRECONDITION',
      message: 'too old',
      times: 1,
    });
    await expect(scanAll(demo, { readTime })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    harness.sandbox.control.clearFaults();
  });

  test('the collection tree counts what is in each collection and below', async () => {
    const readTime = await demo.source.snapshotTime();
    const tree = await demo.source.collectionTree({ readTime });
    expect(tree.filter(({ path }) => /^users(\/|$)/.test(path))).toEqual([
      { path: 'users', documentCount: 4, isSampled: false },
      { path: 'users/*/orders', documentCount: 1, isSampled: false },
      { path: 'users/*/orders/*/lines', documentCount: 1, isSampled: false },
    ]);
    const roots = tree.map(({ path }) => path).filter((path) => !path.includes('/'));
    expect(roots.sort()).toEqual(['ghosts', 'logs', 'users', 'users-old']);
  });
});

describe('through faults', () => {
  test.each([
    ['broken off by the server', { reset: true }],
    ['ended with UNAVAILABLE', { status: 'UNAVAILABLE' as const }],
    ['ended with RESOURCE_EXHAUSTED', { status: 'RESOURCE_EXHAUSTED' as const }],
    ['ended with DEADLINE_EXCEEDED', { status: 'DEADLINE_EXCEEDED' as const }],
    ['ended with INTERNAL', { status: 'INTERNAL' as const }],
    ['cancelled by the server', { status: 'CANCELLED' as const }],
  ])('a stream %s again and again is continued: no doubles, no holes', async (_, fault) => {
    const readTime = await big.source.snapshotTime();
    harness.sandbox.control.addFault({ method: 'RunQuery', breakAfterDocuments: 321, ...fault });
    const stored = await scanAll(big, { readTime });
    expect(stored).toHaveLength(documents);
    expect(new Set(pathsOf(stored)).size).toBe(documents);
    expect(harness.sandbox.control.faultHits()[0]).toBeGreaterThan(10);
  });

  test('an outage longer than the patience ends in SOURCE_UNAVAILABLE, not in a short scan', async () => {
    const readTime = await big.source.snapshotTime();
    harness.sandbox.control.addFault({ method: 'RunQuery', status: 'UNAVAILABLE', skip: 1 });
    harness.sandbox.control.addFault({ method: 'RunQuery', breakAfterDocuments: 100, reset: true });
    await expect(scanAll(big, { readTime })).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE', retryable: true });
  });

  test('a refusal is told apart from an outage and from a quota', async () => {
    const readTime = await big.source.snapshotTime();
    for (const [status, code] of [
      ['PERMISSION_DENIED', 'SOURCE_AUTH_ERROR'],
      ['UNAUTHENTICATED', 'SOURCE_AUTH_ERROR'],
      ['RESOURCE_EXHAUSTED', 'SOURCE_QUOTA_EXCEEDED'],
      ['NOT_FOUND', 'SOURCE_NOT_FOUND'],
      ['INVALID_ARGUMENT', 'VALIDATION_ERROR'],
    ] as const) {
      harness.sandbox.control.clearFaults();
      harness.sandbox.control.addFault({ method: 'RunQuery', status, message: 'no' });
      await expect(scanAll(big, { readTime })).rejects.toMatchObject({ code });
    }
  });

  test('a read time out of reach is SNAPSHOT_TOO_OLD', async () => {
    const old = harness.connect({ projectId: 'old' });
    await write(old, [{ path: 'a/b', fields: fields(1) }]);
    const readTime = await old.source.snapshotTime();
    harness.sandbox.control.moveClock({ project: 'old', database: '(default)' }, 2 * 3_600_000);
    await expect(scanAll(old, { readTime })).rejects.toMatchObject({ code: 'SNAPSHOT_TOO_OLD' });
  });

  test('a read time in the future is a mistake, and with PITR an old one must be a whole minute', async () => {
    const pitr = harness.connect({ projectId: 'pitr' });
    const database = { project: 'pitr', database: '(default)' };
    harness.sandbox.control.setPointInTimeRecovery(database, true);
    await write(pitr, [{ path: 'a/b', fields: fields(1) }]);
    await expect(scanAll(pitr, { readTime: '2200-01-01T00:00:00.000000000Z' })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
    const readTime = await pitr.source.snapshotTime();
    harness.sandbox.control.moveClock(database, 2 * 3_600_000);
    await expect(scanAll(pitr, { readTime })).rejects.toMatchObject({ code: 'SNAPSHOT_TOO_OLD' });
    const nextMinute = new Date(Math.ceil(Date.parse(`${readTime.slice(0, 23)}Z`) / 60_000) * 60_000).toISOString();
    expect(await scanAll(pitr, { readTime: nextMinute.replace('.000Z', '.000000000Z') })).toHaveLength(1);
  });

  test('cancelling ends a scan promptly with CANCELLED', async () => {
    const readTime = await big.source.snapshotTime();
    harness.sandbox.control.addFault({ method: 'RunQuery', batchLatencyMs: 30_000 });
    const controller = new AbortController();
    const startedMs = performance.now();
    const scan = collect(big.source.scan(everything, { scope: wholeDatabase, readTime, signal: controller.signal }));
    setTimeout(() => controller.abort(), 50);
    await expect(scan).rejects.toSatisfy((error) => isEngineError(error, 'CANCELLED'));
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});

describe('with restraint', () => {
  test('a reader that stops holds the stream: what is under way stays bounded', async () => {
    fillFast(harness.sandbox.control.database({ project: 'slow', database: '(default)' }), {
      collection: 'items',
      documents: 60_000,
    });
    const slow = harness.connect({ projectId: 'slow' });
    const readTime = await slow.source.snapshotTime();
    const scan = slow.source.scan(everything, { scope: wholeDatabase, readTime })[Symbol.asyncIterator]();
    const first = await scan.next();
    await sleep(300);
    // Three batches and one flow-control window, of some 36 MB.
    expect(slow.source.usage.documentsRead).toBeLessThan(12_000);
    let count = first.value!.count;
    for (let next = await scan.next(); !next.done; next = await scan.next()) count += next.value.count;
    expect(count).toBe(60_000);
  });

  test('a read rate is kept, and no more is asked for than it allows', async () => {
    const limited = harness.connect({ projectId: 'big', readRateLimit: 5_000 });
    const readTime = await limited.source.snapshotTime();
    const startedMs = performance.now();
    const stored = await scanAll(limited, { readTime });
    expect(stored).toHaveLength(documents);
    expect(performance.now() - startedMs).toBeGreaterThan(900);
  });

  test('reads are counted as they are billed', async () => {
    const counted = harness.connect({ projectId: 'big' });
    const readTime = await counted.source.snapshotTime();
    const before = counted.source.usage.documentsRead;
    await scanAll(counted, { readTime });
    expect(counted.source.usage.documentsRead - before).toBe(documents);
  });
});

describe('fetch', () => {
  test('gives the named documents in the order asked, and deletes for those that are not there', async () => {
    const readTime = await big.source.snapshotTime();
    const paths = ['items/d000000007', 'items/none', 'items/d000000003', 'nowhere/at/all/1'];
    const stored = storedIn(await collect(big.source.fetch(paths, { readTime })));
    expect(pathsOf(stored)).toEqual(paths);
    expect(stored.map(({ kind }) => kind)).toEqual([1, 2, 1, 2]);
    const [scanned] = (await scanAll(big, { readTime })).filter(({ path }) => path === paths[0]);
    expect(stored[0]!.body.equals(scanned!.body)).toBe(true);
  });

  test('survives broken streams without doubles or holes', async () => {
    const readTime = await big.source.snapshotTime();
    harness.sandbox.control.addFault({ method: 'BatchGetDocuments', status: 'UNAVAILABLE', probability: 0.5 });
    harness.sandbox.control.addFault({ method: 'BatchGetDocuments', breakAfterDocuments: 17, reset: true });
    const paths = Array.from({ length: 1_500 }, (_, index) => `items/d${String(index * 3).padStart(9, '0')}`);
    const patient = harness.connect({ projectId: 'big', retry: { attemptsMax: 30, delayBaseMs: 1, delayMaxMs: 5 } });
    const stored = storedIn(await collect(patient.source.fetch(paths, { readTime })));
    expect(pathsOf(stored)).toEqual(paths);
    expect(stored.every(({ kind }) => kind === 1)).toBe(true);
  });
});

describe('ranges', () => {
  test('cover everything once and are of similar size', { tags: 'long' }, async () => {
    fillFast(harness.sandbox.control.database({ project: 'ranges', database: '(default)' }), {
      collection: 'a',
      documents: 9_000,
    });
    fillFast(harness.sandbox.control.database({ project: 'ranges', database: '(default)' }), {
      collection: 'b',
      documents: 21_000,
    });
    const ranged = harness.connect({ projectId: 'ranges' });
    await write(ranged, [{ path: 'ghosts/x/deep/1', fields: fields(1) }]);
    const readTime = await ranged.source.snapshotTime();
    const ranges = await ranged.source.planRanges({ scope: wholeDatabase, readTime, targetRanges: 6 });
    expect(ranges.length).toBeGreaterThanOrEqual(4);
    const counts: number[] = [];
    const seen: string[] = [];
    for (const range of ranges) {
      const stored = storedIn(await collect(ranged.source.scan(range, { scope: wholeDatabase, readTime })));
      counts.push(stored.length);
      seen.push(...pathsOf(stored));
    }
    expect(seen).toEqual(pathsOf(await scanAll(ranged, { readTime })));
    expect(Math.max(...counts)).toBeLessThan(12_000);
    expect(await ranged.source.count(ranges[1]!, { scope: wholeDatabase, readTime })).toBe(counts[1]);
  });

  test.each([
    [300, 3, 1],
    [1_500, 4, 4],
    [40, 300, 4],
  ])(
    'of %i collections with %i documents each are found for a small part of what reading all would cost',
    { tags: 'long' },
    async (collections, documents, rangesMin) => {
      const many = harness.connect({ projectId: `many-${collections}` });
      const paths = Array.from(
        { length: collections * documents },
        (_, index) => `tenant-${1e5 + (index % collections)}/d${1e6 + index}`,
      );
      for (let from = 0; from < paths.length; from += 500)
        await write(
          many,
          paths.slice(from, from + 500).map((path) => ({ path, fields: fields(1) })),
        );
      const readTime = await many.source.snapshotTime();
      const before = many.source.usage.documentsRead;
      const ranges = await many.source.planRanges({ scope: wholeDatabase, readTime, targetRanges: 6 });
      expect(many.source.usage.documentsRead - before).toBeLessThan(0.07 * collections * documents);
      expect(ranges.length).toBeGreaterThanOrEqual(rangesMin);
      const counts: number[] = [];
      for (const range of ranges) counts.push(await many.source.count(range, { scope: wholeDatabase, readTime }));
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(collections * documents);
      if (rangesMin > 1) expect(Math.max(...counts)).toBeLessThan(0.4 * collections * documents);
    },
  );

  test('the bounds of an earlier backup are enough, without asking the database', async () => {
    const readTime = await big.source.snapshotTime();
    harness.sandbox.control.resetCounters();
    const previousCuts = ['items/d000001000', 'items/d000002000', 'items/d000003000', 'items/d000004000'];
    const ranges = await big.source.planRanges({ scope: wholeDatabase, readTime, targetRanges: 5, previousCuts });
    expect(ranges.map((range) => range.start)).toEqual([null, ...previousCuts]);
    expect(JSON.stringify(harness.sandbox.control.counters())).not.toContain('PartitionQuery');
  });
});
