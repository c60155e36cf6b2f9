import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { everything, type Instant, type RecordBatch, wholeDatabase } from '../../../ports/index.ts';
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

/** Every promise of capture, against a server that keeps to what Google promises and no more. */
let bench: FirestoreHarness;
let projects = 0;
beforeAll(async () => {
  bench = await startFirestoreHarness({ listenMode: 'as-production', listenHeartbeatMs: 50 });
});
afterAll(() => bench.stop());
afterEach(() => {
  bench.sandbox.control.clearFaults();
  bench.sandbox.control.setListenMode('as-production');
});

const patient = { attemptsMax: 100, delayBaseMs: 2, delayMaxMs: 20 };
const fresh = (more: Partial<Parameters<FirestoreHarness['connect']>[0]> = {}): ConnectedFirestore =>
  bench.connect({ projectId: `strict-${++projects}`, retry: patient, ...more });
const name = () => ({ project: `strict-${projects}`, database: '(default)' });

/** What the log would say, from the database's own history. */
function namesOf(connected: ConnectedFirestore): (at: Instant) => AsyncIterable<RecordBatch> {
  return (readTime) => connected.source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true });
}

/** Listens until `c` is covered, stops, lets `meanwhile` happen, and listens on from where it was. */
async function interrupted(
  connected: ConnectedFirestore,
  meanwhile: () => Promise<void>,
  more: { exactWithinMs?: number } = {},
): Promise<Recorder> {
  await write(
    connected,
    [...Array(30)].map((_, index) => ({ path: `c/${index}`, fields: fields(0) })),
  );
  const from = await connected.source.snapshotTime();
  const first = new Recorder(connected, from, { knownNames: namesOf(connected) });
  await first.until(() => first.batches.length > 0);
  await first.stop();
  await meanwhile();
  const { coveredThrough, position } = first.batches.at(-1)!;
  return new Recorder(connected, coveredThrough, { position, knownNames: namesOf(connected), ...more });
}

/** A way to the sandbox that can be cut. */
async function startWay() {
  const sockets = new Set<Socket>();
  const [host, port] = bench.sandbox.address.split(':');
  const server = createServer((near) => {
    const far = createConnection(Number(port), host);
    for (const socket of [near, far]) {
      sockets.add(socket.on('error', () => undefined).on('close', () => near.destroy() && far.destroy()));
    }
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const stop = async () => {
    server.close();
    cut();
  };
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, cut, stop };
}

describe('what was deleted while nobody listened', () => {
  for (const existenceFilters of ['bloom', 'count', 'none'] as const) {
    test(`is found although the server never tells of it (filters: ${existenceFilters})`, async () => {
      bench.sandbox.control.setListenMode('as-production', { existenceFilters });
      const connected = fresh();
      const recorder = await interrupted(connected, () =>
        write(connected, [{ path: 'c/3' }, { path: 'c/7' }, { path: 'c/8', fields: fields(9) }]),
      );
      await recorder.until(() => recorder.changes().length >= 3);
      expect(recorder.changes().sort()).toEqual(['delete c/3', 'delete c/7', 'put c/8']);
      expect(recorder.gaps).toEqual([]);
      await recorder.stop();
    });
  }

  test('is told apart from what was deleted and made again, without a scan', async () => {
    const connected = fresh();
    const recorder = await interrupted(connected, async () => {
      await write(connected, [{ path: 'c/3' }]);
      await write(connected, [{ path: 'c/3', fields: fields(5) }]);
    });
    bench.sandbox.control.resetCounters();
    await recorder.until(() => recorder.changes().length >= 1);
    expect(recorder.changes()).toEqual(['put c/3']);
    expect(bench.sandbox.control.counters().reads).toBeLessThan(15);
    await recorder.stop();
  });

  test('is found by the bloom filter with few reads', async () => {
    const connected = fresh();
    const recorder = await interrupted(connected, () => write(connected, [{ path: 'c/3' }]));
    const scans = () => bench.sandbox.control.counters().methods.RunQuery?.documents ?? 0;
    await recorder.until(() => recorder.changes().length >= 1);
    expect(recorder.changes()).toEqual(['delete c/3']);
    expect(scans()).toBeGreaterThan(0);
    await recorder.stop();
  });

  test('a long interruption is a gap, also when both its ends are the same: what came and went was not heard', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/1', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    bench.sandbox.control.moveClock(name(), 60_000);
    const quiet = new Recorder(connected, from, { knownNames: namesOf(connected) });
    await quiet.until(() => quiet.batches.length > 0);
    expect(quiet.gaps).toMatchObject([{ from, isQuiet: true, reason: expect.stringContaining('came and went') }]);
    expect(quiet.gaps[0]).not.toHaveProperty('deletionsUnknown');
    await quiet.stop();
    await write(connected, [{ path: 'c/1', fields: fields(1) }]);
    const loud = new Recorder(connected, from, { knownNames: namesOf(connected) });
    await loud.until(() => loud.gaps.length > 0);
    expect(loud.gaps[0]).toMatchObject({ from, reason: expect.stringContaining('interrupted') });
    expect(loud.gaps[0]).not.toHaveProperty('deletionsUnknown');
    expect(loud.gaps[0]).not.toHaveProperty('isQuiet');
    await loud.stop();
  });

  test('streams that are cut for a moment make no gap of a quiet time, however long the last snapshot is ago', async () => {
    const way = await startWay();
    const connected = fresh({ connection: { type: 'emulator', host: way.address } });
    await write(connected, [{ path: 'c/1', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    const recorder = new Recorder(connected, from, { batchIntervalMs: 60_000 });
    await recorder.until(() => recorder.batches.length > 0);
    bench.sandbox.control.moveClock(name(), 60_000);
    way.cut();
    const later = await connected.source.snapshotTime();
    await recorder.until(() => recorder.covers(later));
    expect(recorder.gaps).toEqual([]);
    await recorder.stop();
    await way.stop();
  });

  test('what was heard before the streams broke, or before the end was asked for, is handed over', async () => {
    const way = await startWay();
    const connected = fresh({ connection: { type: 'emulator', host: way.address } });
    await write(connected, [{ path: 'c/1', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    const ending = new AbortController();
    const options = { batchIntervalMs: 60_000, exactWithinMs: 1, ending: ending.signal };
    const recorder = new Recorder(connected, from, options);
    await recorder.until(() => recorder.batches.length > 0);
    await write(connected, [{ path: 'c/2', fields: fields(0) }]);
    const heard = await connected.source.snapshotTime();
    await sleep(500);
    way.cut();
    await recorder.until(() => recorder.covers(heard));
    expect(recorder.gaps.slice(1).filter((gap) => gap.from < heard)).toEqual([]);
    await write(connected, [{ path: 'c/3', fields: fields(0) }]);
    await sleep(500);
    ending.abort();
    await recorder.ended();
    expect(recorder.changes()).toEqual(['put c/2', 'put c/3']);
    expect(recorder.error).toBeUndefined();
    await way.stop();
  });
});

describe('a server that does not let one catch up', () => {
  test('is not asked again and again: the group is scanned, and listening goes on from there', async () => {
    const connected = fresh();
    const recorder = await interrupted(connected, async () => {
      await write(
        connected,
        [...Array(20)].map((_, index) => ({ path: `c/n${index}`, fields: fields(1) })),
      );
      await write(connected, [{ path: 'c/0' }]);
      bench.sandbox.control.setListenMode('as-production', { catchUpDocumentsMax: 10 });
      bench.sandbox.control.resetCounters();
    });
    await recorder.until(() => recorder.changes().length >= 21);
    expect(new Set(recorder.changes()).size).toBe(21);
    expect(recorder.changes()).toContain('delete c/0');
    expect(bench.sandbox.control.counters().methods.Listen!.calls).toBeLessThanOrEqual(3);
    await write(connected, [{ path: 'c/later', fields: fields(1) }]);
    await recorder.until(() => recorder.changes().includes('put c/later'));
    await recorder.stop();
  });

  test('after more than 25 minutes names are scanned instead of running the whole query again', async () => {
    const connected = fresh();
    const recorder = await interrupted(connected, async () => {
      await write(connected, [{ path: 'c/1', fields: fields(2) }, { path: 'c/2' }]);
      bench.sandbox.control.moveClock(name(), 40 * 60_000);
    });
    await recorder.until(() => recorder.gaps.length >= 1);
    await recorder.until(() => recorder.changes().length >= 2);
    expect(recorder.changes().sort()).toEqual(['delete c/2', 'put c/1']);
    expect(recorder.gaps[0]!.reason).toContain('nothing was heard for 40 minutes');
    await recorder.stop();
  });

  test('streams that are cut before anything is complete do not stop the covered time: a scan closes it, and is told as a gap', async () => {
    const connected = fresh();
    const cut = async () => {
      await write(connected, [{ path: 'c/1', fields: fields(2) }, { path: 'c/2' }]);
      bench.sandbox.control.addFault({ method: 'Listen', breakAfterDocuments: 0, reset: true });
      bench.sandbox.control.resetCounters();
    };
    const recorder = await interrupted(connected, cut, { exactWithinMs: 100 });
    const end = await connected.source.snapshotTime();
    await recorder.until(() => recorder.covers(end));
    expect(recorder.changes().sort()).toEqual(['delete c/2', 'put c/1']);
    expect(recorder.gaps[0]!.reason).toContain('Listening could not go on');
    // It goes on trying to listen, with growing pauses, and does not scan again at once.
    await sleep(500);
    expect(recorder.gaps.filter(({ isQuiet }) => !isQuiet)).toHaveLength(1);
    expect(bench.sandbox.control.counters().methods.RunQuery!.documents).toBeLessThan(200);
    bench.sandbox.control.clearFaults();
    await write(connected, [{ path: 'c/later', fields: fields(1) }]);
    await recorder.until(() => recorder.changes().includes('put c/later'));
    expect(recorder.error).toBeUndefined();
    await recorder.stop();
  });

  test('streams that never come back end the capture with what is wrong, although scans close the time meanwhile', async () => {
    const connected = fresh({ retry: { attemptsMax: 12, delayBaseMs: 20, delayMaxMs: 40 } });
    const refuse = async () => {
      await write(connected, [{ path: 'c/1', fields: fields(2) }]);
      bench.sandbox.control.addFault({ method: 'Listen', status: 'UNAVAILABLE' });
    };
    const recorder = await interrupted(connected, refuse, { exactWithinMs: 50 });
    await recorder.until(() => recorder.error !== undefined);
    expect(recorder.error).toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
    expect(recorder.gaps.some(({ isQuiet }) => !isQuiet)).toBe(true);
    expect(recorder.batches.every(({ isScanned }) => isScanned)).toBe(true);
  });

  test('an overflowing buffer ends a stream, not the capture', async () => {
    const connected = fresh();
    await write(connected, [{ path: 'c/0', fields: fields(0) }]);
    const from = await connected.source.snapshotTime();
    bench.sandbox.control.setListenMode('as-production', { bufferDocumentsMax: 3 });
    const recorder = new Recorder(connected, from, { knownNames: namesOf(connected) });
    await recorder.until(() => recorder.batches.length > 0);
    await write(
      connected,
      [...Array(50)].map((_, index) => ({ path: `c/${index}`, fields: fields(1) })),
    );
    await recorder.until(() => new Set(recorder.changes()).size >= 50);
    expect(recorder.error).toBeUndefined();
    await recorder.stop();
  });
});

test('scans and repeated listening stay within their budget of reads', async () => {
  const connected = fresh();
  await write(
    connected,
    [...Array(200)].map((_, index) => ({ path: `c/${index}`, fields: fields(0) })),
  );
  const from = await connected.source.snapshotTime();
  bench.sandbox.control.moveClock(name(), 40 * 60_000);
  bench.sandbox.control.addFault({ method: 'Listen', status: 'OUT_OF_RANGE' });
  const recorder = new Recorder(connected, from, { knownNames: namesOf(connected), readsPerHourMax: 300 });
  await recorder.until(() => recorder.gaps.length >= 1);
  await sleep(300);
  const { documentsRead } = connected.source.usage;
  await sleep(300);
  expect(connected.source.usage.documentsRead).toBe(documentsRead);
  await recorder.stop();
});

test('where nobody knows any more what was there, the gap says that deletions are unknown, and capture goes on', async () => {
  const connected = fresh();
  await write(connected, [{ path: 'c/1', fields: fields(0) }]);
  const from = await connected.source.snapshotTime();
  await write(connected, [{ path: 'c/1' }, { path: 'c/2', fields: fields(0) }]);
  bench.sandbox.control.moveClock(name(), 2 * 60 * 60_000);
  const recorder = new Recorder(connected, from, { knownNames: namesOf(connected) });
  await recorder.until(() => recorder.gaps.length > 0);
  expect(recorder.gaps[0]).toMatchObject({ from, deletionsUnknown: true });
  await write(connected, [{ path: 'c/3', fields: fields(0) }]);
  await recorder.until(() => recorder.changes().includes('put c/3'));
  await recorder.stop();
});

test('what an earlier capture has spent of the hour counts for the next one, and more of it is told', async () => {
  const connected = fresh();
  await write(connected, [{ path: 'c/1', fields: fields(0) }]);
  const from = await connected.source.snapshotTime();
  const told: number[] = [];
  const options = { knownNames: namesOf(connected), readsPerHourMax: 300 };
  const spent = (agoMs: number) => [{ at: new Date(Date.now() - agoMs).toISOString(), reads: 300 }];
  const broke = new Recorder(connected, from, { ...options, spentReads: spent(60_000) });
  await sleep(300);
  expect(broke.batches).toEqual([]);
  await broke.stop();
  const recovered = new Recorder(connected, from, {
    ...options,
    spentReads: spent(61 * 60_000),
    onSpent: ({ reads }) => told.push(reads),
  });
  await recovered.until(() => recovered.batches.length > 0);
  expect(told[0]).toBeGreaterThan(0);
  await recovered.stop();
});

test('whatever is written while streams are cut and captures restart, every mark is exactly the database', {
  tags: 'long',
}, async () => {
  const connected = fresh();
  const random = (below: number) => Math.floor(Math.random() * below);
  const anyPath = (round: number) => {
    const root = `${['c', 'd', `e${Math.floor(round / 12)}`][random(3)]}/${random(6)}`;
    return random(3) === 0 ? `${root}/inner${random(2)}/${random(4)}` : root;
  };
  await write(
    connected,
    [...new Set([...Array(30)].map(() => anyPath(0)))].map((path) => ({ path, fields: fields(0) })),
  );
  const from = await connected.source.snapshotTime();
  const base = new Map((await scanAll(connected, { readTime: from })).map(({ path, content }) => [path, content]));
  bench.sandbox.control.setListenMode('as-production', { cutAfterMs: [100, 400] });
  let recorder = new Recorder(connected, from, { knownNames: namesOf(connected) });
  const batches: Recorder['batches'] = [];
  const restart = async () => {
    await recorder.stop();
    expect(recorder.error).toMatchObject({ code: 'CANCELLED' });
    batches.push(...recorder.batches);
    const last = batches.at(-1);
    const position = last === undefined ? {} : { position: last.position };
    const knownNames = namesOf(connected);
    recorder = new Recorder(connected, last?.coveredThrough ?? from, { ...position, knownNames });
  };
  for (let round = 0; round < 60; round += 1) {
    const records = new Map([...Array(4)].map(() => [anyPath(round), random(3) === 0 ? undefined : fields(round)]));
    await write(
      connected,
      [...records].map(([path, values]) => (values === undefined ? { path } : { path, fields: values })),
    );
    await sleep(random(40));
    if (random(10) === 0) await restart();
  }
  const end = await connected.source.snapshotTime();
  bench.sandbox.control.setListenMode('as-production');
  await write(connected, [{ path: 'c/last', fields: fields(1) }]);
  await recorder.until(() => recorder.covers(end));
  await restart();
  const gaps = batches.flatMap(({ gap }) => (gap === undefined ? [] : [gap]));
  const records = storedIn(batches.flatMap((batch) => batch.records ?? []));
  const marks = batches.flatMap((batch) => batch.marks);
  expect(marks.length).toBeGreaterThan(2);
  for (const mark of marks.filter((_, index) => index % Math.ceil(marks.length / 25) === 0)) {
    if (gaps.some((gap) => gap.from < mark && mark < gap.through)) continue;
    const state = new Map(base);
    for (const { path, kind, content, at } of records) {
      if (at > mark) continue;
      if (kind === 1) state.set(path, content);
      else state.delete(path);
    }
    const stored = await scanAll(connected, { readTime: mark });
    const actual = Object.fromEntries(stored.map(({ path, content }) => [path, content]));
    expect(Object.fromEntries(state), mark).toEqual(actual);
  }
  await recorder.stop();
});
