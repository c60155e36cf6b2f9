import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { everything, type Instant, wholeDatabase } from '../../../ports/index.ts';
import type { ConnectedFirestore } from '../connect.ts';
import {
  type FirestoreHarness,
  fields,
  scanAll,
  startFirestoreHarness,
  storedIn,
  write,
} from '../testing/firestore-harness.ts';
import { Recorder } from '../testing/recorder.ts';

let bench: FirestoreHarness;
let projects = 0;
beforeAll(async () => {
  bench = await startFirestoreHarness();
});
afterAll(() => bench.stop());
afterEach(() => bench.sandbox.control.clearFaults());

const fresh = (more = {}): ConnectedFirestore => bench.connect({ projectId: `capture-${++projects}`, ...more });

describe('following a database', () => {
  test('puts and deletes arrive in order of commit, in stretches that join, with the bytes as stored', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/old', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    const recorder = new Recorder(connected, from);
    await write(connected, [{ path: 'c/a', fields: fields(1) }]);
    await write(connected, [{ path: 'c/b', fields: fields(2) }]);
    await recorder.until(() => recorder.changes().length >= 2);
    await write(connected, [{ path: 'c/old' }]);
    await recorder.until(() => recorder.changes().length >= 3);
    expect(recorder.changes()).toEqual(['put c/a', 'put c/b', 'delete c/old']);
    const heard = storedIn(recorder.batches.flatMap((batch) => batch.records ?? []));
    const stored = await scanAll(connected);
    expect(heard[0]!.body.equals(stored.find(({ path }) => path === 'c/a')!.body)).toBe(true);
    recorder.expectJoined(from);
    expect(recorder.gaps).toEqual([]);
    await recorder.stop();
    expect(recorder.error).toMatchObject({ code: 'CANCELLED' });
  });

  test('what happened before listening began, but after the starting instant, is not lost', async () => {
    const connected = fresh();
    await write(connected, [
      { path: 'c/x', fields: fields(0) },
      { path: 'c/y', fields: fields(0) },
    ]);
    const from = await connected.source.snapshotTime();
    await write(connected, [{ path: 'c/x', fields: fields(1) }, { path: 'c/y' }]);
    const recorder = new Recorder(connected, from);
    await recorder.until(() => recorder.changes().length >= 2);
    expect(recorder.changes().sort()).toEqual(['delete c/y', 'put c/x']);
    await recorder.stop();
  });

  test('a collection whose last document went before listening began is heard of too', async () => {
    const connected = fresh();
    await write(connected, [
      { path: 'c/a', fields: fields(0) },
      { path: 'lost/1', fields: fields(0) },
    ]);
    const from = await connected.source.snapshotTime();
    await write(connected, [{ path: 'lost/1' }]);
    const recorder = new Recorder(connected, from);
    await sleep(300);
    await write(connected, [{ path: 'c/b', fields: fields(1) }]);
    await recorder.until(() => recorder.changes().length >= 2);
    expect(recorder.changes().sort()).toEqual(['delete lost/1', 'put c/b']);
    expect(recorder.gaps).toEqual([]);
    await recorder.stop();
  });

  test('a collection that appears while listening is followed from its first document, without a gap', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/a', fields: fields(1) }]);
    const from = await connected.source.snapshotTime();
    const recorder = new Recorder(connected, from);
    await recorder.until(() => recorder.batches.length > 0 || recorder.covers(from));
    await write(connected, [{ path: 'fresh/1', fields: fields(1) }]);
    await write(connected, [
      { path: 'c/a', fields: fields(2) },
      { path: 'c/a/inner/1', fields: fields(3) },
    ]);
    await recorder.until(() => recorder.changes().length >= 3);
    expect(recorder.changes()).toEqual(['put fresh/1', 'put c/a', 'put c/a/inner/1']);
    expect(recorder.gaps).toEqual([]);
    recorder.expectJoined(from);
    await recorder.stop();
  });

  test('a collection that was there all along and is found late is handed over whole, and the time without it is a gap', async () => {
    const connected = fresh();
    await write(connected, [
      { path: 'c/a', fields: fields(1) },
      { path: 'c/a/hidden/1', fields: fields(1) },
    ]);
    const from = await connected.source.snapshotTime();
    const recorder = new Recorder(connected, from, { knownCollectionIds: ['c'] });
    // A change of the parent leads the look below it.
    await write(connected, [{ path: 'c/a', fields: fields(2) }]);
    await recorder.until(() => recorder.gaps.length > 0);
    expect(recorder.gaps[0]).toMatchObject({ from, reason: 'Collections were found late: hidden.' });
    expect(recorder.gaps[0]).not.toHaveProperty('deletionsUnknown');
    expect(recorder.changes().sort()).toEqual(['put c/a', 'put c/a/hidden/1']);
    await write(connected, [{ path: 'c/a/hidden/2', fields: fields(1) }]);
    await recorder.until(() => recorder.changes().includes('put c/a/hidden/2'));
    recorder.expectJoined(from);
    await recorder.stop();
  });

  test('new collections below documents that do not exist are found with their root collection', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/a', fields: fields(1) }]);
    const from = await connected.source.snapshotTime();
    const recorder = new Recorder(connected, from);
    await write(connected, [{ path: 'ghosts/nobody/letters/1', fields: fields(1) }]);
    await write(connected, [{ path: 'c/a', fields: fields(2) }]);
    await recorder.until(() => recorder.changes().length >= 2);
    expect(recorder.changes()).toEqual(['put ghosts/nobody/letters/1', 'put c/a']);
    expect(recorder.gaps).toEqual([]);
    await recorder.stop();
  });

  test('an empty database is waited on until its first document', async () => {
    const connected = fresh();
    const from = await connected.source.snapshotTime();
    const recorder = new Recorder(connected, from);
    await recorder.until(() => recorder.batches.length >= 1);
    await write(connected, [{ path: 'first/1', fields: fields(1) }]);
    await recorder.until(() => recorder.changes().length >= 1);
    expect(recorder.changes()).toEqual(['put first/1']);
    expect(recorder.gaps).toEqual([]);
    recorder.expectJoined(from);
    await recorder.stop();
  });

  test('more collections than fit one stream are followed on several, and time moves with the slowest', async () => {
    const connected = fresh();
    const ids = [...Array(130)].map((_, index) => `group${index}`);
    await write(
      connected,
      ids.map((id) => ({ path: `${id}/1`, fields: fields(0) })),
    );
    const from = await connected.source.snapshotTime();
    const recorder = new Recorder(connected, from, { knownCollectionIds: ids });
    for (const id of ['group3', 'group129', 'group40'])
      await write(connected, [{ path: `${id}/1`, fields: fields(1) }]);
    await recorder.until(() => recorder.changes().length >= 3);
    expect(recorder.changes()).toEqual(['put group3/1', 'put group129/1', 'put group40/1']);
    expect(recorder.gaps).toEqual([]);
    recorder.expectJoined(from);
    await recorder.stop();
  });

  test('only what is in scope is handed over', async () => {
    const connected = fresh();
    await write(connected, [
      { path: 'c/a', fields: fields(1) },
      { path: 'logs/1', fields: fields(1) },
    ]);
    const from = await connected.source.snapshotTime();
    const scope = { collections: 'all' as const, includeSubcollections: true, excludeCollections: ['logs'] };
    const recorder = new Recorder(connected, from, { scope });
    await write(connected, [
      { path: 'logs/1', fields: fields(2) },
      { path: 'c/a', fields: fields(2) },
    ]);
    await recorder.until(() => recorder.changes().length >= 1);
    await write(connected, [
      { path: 'logs/2', fields: fields(3) },
      { path: 'c/b', fields: fields(3) },
    ]);
    await recorder.until(() => recorder.changes().length >= 2);
    expect(recorder.changes()).toEqual(['put c/a', 'put c/b']);
    await recorder.stop();
  });
});

describe('floods', () => {
  test('many changes come in pieces, each complete up to its end and none longer than asked', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/0', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    for (let round = 0; round < 20; round += 1) {
      await write(
        connected,
        Array.from({ length: 50 }, (_, index) => ({ path: `c/${round}-${index}`, fields: fields(index) })),
      );
    }
    const recorder = new Recorder(connected, from, { batchBytesMax: 10_000 });
    await recorder.until(() => recorder.changes().length >= 1_000);
    expect(new Set(recorder.changes()).size).toBe(1_000);
    expect(recorder.batches.length).toBeGreaterThan(5);
    for (const batch of recorder.batches) expect(batch.records?.bytes.length ?? 0).toBeLessThan(20_000);
    expect(recorder.gaps).toEqual([]);
    recorder.expectJoined(from);
    await recorder.stop();
  });

  test('while storing is slow the database keeps what it would say: memory stays bounded, and nothing is missed', {
    tags: 'long',
  }, async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/0', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    const stop = new AbortController();
    const options = { from, scope: wholeDatabase, batchIntervalMs: 30, batchBytesMax: 1_000_000, signal: stop.signal };
    const batches = connected.capture.capture(options)[Symbol.asyncIterator]();
    await write(connected, [{ path: 'c/1', fields: fields(1) }]);
    const heard = [(await batches.next()).value!.records!];
    const text = { stringValue: 'x'.repeat(9_000) };
    // 20 MB, of which half of 16 may wait here, and what is on its way.
    for (let round = 0; round < 22; round += 1)
      await write(
        connected,
        Array.from({ length: 100 }, (_, index) => ({ path: `c/${round}-${index}`, fields: { text } })),
      );
    await sleep(300);
    expect(connected.source.usage.bytesReceived).toBeLessThan(13_000_000);
    const gaps = [];
    for (let count = 1; count < 2_201; ) {
      const { records, gap } = (await batches.next()).value!;
      if (gap) gaps.push(gap);
      if (records) heard.push(records);
      count += records?.count ?? 0;
    }
    expect(new Set(storedIn(heard).map(({ path }) => path)).size).toBe(2_201);
    expect(gaps).toEqual([]);
    stop.abort();
    await expect(batches.next()).rejects.toThrow();
  });

  test('more than may be held is caught up by a scan, and the time in between is a gap', { tags: 'long' }, async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/0', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    await write(
      connected,
      Array.from({ length: 3_000 }, (_, index) => ({ path: `c/${index}`, fields: fields(index + 1) })),
    );
    const recorder = new Recorder(connected, from, { batchBytesMax: 10_000 });
    await recorder.until(() => recorder.changes().length >= 3_000);
    expect(new Set(recorder.changes()).size).toBe(3_000);
    expect(recorder.gaps[0]).toMatchObject({ from, deletionsUnknown: true });
    recorder.expectJoined(from);
    await recorder.stop();
  });
});

describe('through faults', () => {
  test('a stream that breaks again and again loses and doubles nothing that counts', async () => {
    const connected = fresh({ retry: { attemptsMax: 20, delayBaseMs: 2, delayMaxMs: 20 } });
    await write(connected, [{ path: 'c/0', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    bench.sandbox.control.addFault({ method: 'Listen', breakAfterDocuments: 5, reset: true, times: 8 });
    const recorder = new Recorder(connected, from);
    const expected: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      const records = [0, 1, 2].map((index) => ({ path: `c/r${round}-${index}`, fields: fields(round) }));
      expected.push(...records.map(({ path }) => `put ${path}`));
      await write(connected, records);
      await sleep(15);
    }
    await recorder.until(() => new Set(recorder.changes()).size >= expected.length);
    expect([...new Set(recorder.changes())].sort()).toEqual(expected.sort());
    expect(recorder.gaps).toEqual([]);
    recorder.expectJoined(from);
    await recorder.stop();
  });

  test('a starting point out of reach is caught up by a scan, deletions included, and the gap is told', async () => {
    const connected = fresh();
    const before = ['c/changed', 'c/gone', 'c/same'];
    await write(
      connected,
      before.map((path) => ({ path, fields: fields(1) })),
    );
    const from = await connected.source.snapshotTime();
    const names = { scope: wholeDatabase, readTime: from, namesOnly: true };
    const known: Awaited<ReturnType<typeof namesAt>> = await namesAt(connected, names);
    await write(connected, [
      { path: 'c/changed', fields: fields(2) },
      { path: 'c/gone' },
      { path: 'n/new', fields: fields(3) },
    ]);
    bench.sandbox.control.moveClock({ project: `capture-${projects}`, database: '(default)' }, 2 * 3_600_000);
    const knownNames = async function* () {
      yield* known;
    };
    const recorder = new Recorder(connected, from, { knownNames });
    await recorder.until(() => recorder.gaps.length >= 1);
    expect(recorder.changes().sort()).toEqual(['delete c/gone', 'put c/changed', 'put n/new']);
    expect(recorder.gaps[0]).toMatchObject({ from, reason: expect.stringContaining('Listening could not go on') });
    expect(recorder.gaps[0]).not.toHaveProperty('deletionsUnknown');
    await write(connected, [{ path: 'n/later', fields: fields(4) }]);
    await recorder.until(() => recorder.changes().includes('put n/later'));
    expect(recorder.gaps).toHaveLength(1);
    recorder.expectJoined(from);
    await recorder.stop();
  });

  test('without the names known before, a catch-up admits that it cannot see deletions', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/gone', fields: fields(1) }]);
    const from = await connected.source.snapshotTime();
    await write(connected, [{ path: 'c/gone' }, { path: 'c/new', fields: fields(2) }]);
    bench.sandbox.control.moveClock({ project: `capture-${projects}`, database: '(default)' }, 2 * 3_600_000);
    const recorder = new Recorder(connected, from);
    await recorder.until(() => recorder.gaps.length >= 1);
    expect(recorder.changes()).toEqual(['put c/new']);
    expect(recorder.gaps[0]).toMatchObject({ deletionsUnknown: true });
    await recorder.stop();
  });

  test('a server that resets its listeners leads to a catch-up with a gap, not to silence', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/a', fields: fields(1) }]);
    const from = await connected.source.snapshotTime();
    const recorder = new Recorder(connected, from);
    await write(connected, [{ path: 'c/b', fields: fields(1) }]);
    await recorder.until(() => recorder.changes().length >= 1);
    bench.sandbox.control.resetListens();
    await recorder.until(() => recorder.gaps.length >= 1);
    await write(connected, [{ path: 'c/c', fields: fields(1) }]);
    await recorder.until(() => recorder.changes().includes('put c/c'));
    recorder.expectJoined(from);
    await recorder.stop();
  });

  test('missing rights end the capture with SOURCE_AUTH_ERROR', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/a', fields: fields(1) }]);
    const from = await connected.source.snapshotTime();
    bench.sandbox.control.addFault({ method: 'Listen', status: 'PERMISSION_DENIED' });
    const recorder = new Recorder(connected, from);
    await recorder.until(() => recorder.error !== undefined);
    expect(recorder.error).toMatchObject({ code: 'SOURCE_AUTH_ERROR' });
  });
});

test('whatever is written while streams break, base and captured changes together are the database', async () => {
  const connected = fresh({ retry: { attemptsMax: 100, delayBaseMs: 2, delayMaxMs: 20 } });
  const random = (below: number) => Math.floor(Math.random() * below);
  const anyPath = () => {
    const root = `${['c', 'd', 'e'][random(3)]}/${random(8)}`;
    return random(3) === 0 ? `${root}/inner/${random(4)}` : root;
  };
  const state = new Map((await written(30)).map(({ path, content }) => [path, content]));
  const from = await connected.source.snapshotTime();
  bench.sandbox.control.addFault({ method: 'Listen', breakAfterDocuments: 20, reset: true, probability: 0.7 });
  bench.sandbox.control.addFault({ method: 'Listen', status: 'UNAVAILABLE', probability: 0.3 });
  const recorder = new Recorder(connected, from);
  for (let round = 0; round < 22; round += 1) {
    const records = new Map([...Array(4)].map(() => [anyPath(), random(4) === 0 ? undefined : fields(random(1000))]));
    await write(
      connected,
      [...records].map(([path, values]) => (values === undefined ? { path } : { path, fields: values })),
    );
    await sleep(random(8));
  }
  const end = await connected.source.snapshotTime();
  bench.sandbox.control.clearFaults();
  await write(connected, [{ path: 'c/last', fields: fields(1) }]);
  await recorder.until(() => recorder.covers(end));
  for (const { path, kind, content } of storedIn(recorder.batches.flatMap((batch) => batch.records ?? []))) {
    if (kind === 1) state.set(path, content);
    else state.delete(path);
  }
  const through = await scanAll(connected, { readTime: recorder.batches.at(-1)!.coveredThrough });
  expect(Object.fromEntries(state)).toEqual(Object.fromEntries(through.map(({ path, content }) => [path, content])));
  expect(recorder.gaps).toEqual([]);
  recorder.expectJoined(from);
  await recorder.stop();

  async function written(count: number) {
    await write(
      connected,
      [...new Set([...Array(count)].map(anyPath))].map((path) => ({ path, fields: fields(0) })),
    );
    return scanAll(connected);
  }
});

async function namesAt(
  connected: ConnectedFirestore,
  options: { scope: typeof wholeDatabase; readTime: Instant; namesOnly: boolean },
) {
  const batches = [];
  for await (const batch of connected.source.scan(everything, options)) batches.push(batch);
  return batches;
}
