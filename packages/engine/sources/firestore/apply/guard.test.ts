import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { decodeDocument, type JsonValue } from '../../../format/document-json.ts';
import {
  type GuardedBatch,
  instantToParts,
  type Mismatch,
  parseInstant,
  type RecordBatch,
  type Version,
  type WriteGuard,
  type WriteOutcome,
} from '../../../ports/index.ts';
import type { ConnectedFirestore } from '../connect.ts';
import {
  batchesOf,
  type FirestoreHarness,
  fields,
  scanAll,
  startFirestoreHarness,
  type TestRecord,
  write,
} from '../testing/firestore-harness.ts';

let harness: FirestoreHarness;
let projects = 0;
beforeAll(async () => {
  harness = await startFirestoreHarness();
});
afterAll(() => harness.stop());
afterEach(() => harness.sandbox.control.clearFaults());

const fresh = (): ConnectedFirestore => harness.connect({ projectId: `guard-${++projects}` });

class Recorder implements WriteGuard {
  repeatedRecords = 0;
  began: Version | undefined = { seconds: 1, nanos: 0 };
  formerDocument: Uint8Array | undefined;
  readonly outcomes: WriteOutcome[] = [];
  readonly mismatches: Mismatch[] = [];
  decide: (mismatch: Mismatch) => 'replace' | 'conflict' | 'skip' = () => 'replace';

  async former() {
    return this.formerDocument;
  }

  async onMismatch(mismatch: Mismatch) {
    this.mismatches.push(mismatch);
    return this.decide(mismatch);
  }

  onSettled(outcomes: readonly WriteOutcome[]): void {
    this.outcomes.push(...outcomes);
  }
}

async function versions(connected: ConnectedFirestore): Promise<Map<string, Version>> {
  const found = await scanAll(connected);
  return new Map(
    found.map(({ path, body }) => [path, instantToParts(parseInstant(decodeDocument(body).updateTime!)!)]),
  );
}

async function* expecting(
  batches: AsyncIterable<RecordBatch>,
  expected: readonly (Version | null)[],
): AsyncGenerator<GuardedBatch> {
  let taken = 0;
  for await (const batch of batches) {
    yield { ...batch, expected: expected.slice(taken, taken + batch.count) };
    taken += batch.count;
  }
}

function apply(
  connected: ConnectedFirestore,
  records: TestRecord[],
  expected: readonly (Version | null)[],
  guard: WriteGuard,
  mode: 'overwrite' | 'merge' | 'skip_existing' = 'overwrite',
) {
  const batches = expecting(batchesOf(connected.target.database, records), expected);
  return connected.target.apply(batches, { mode, rampUp: false, guard });
}

const records = (count: number, offset = 0): TestRecord[] =>
  Array.from({ length: count }, (_, index) => ({
    path: `c/${String(index).padStart(5, '0')}`,
    fields: fields(index + offset),
  }));

test('writes over the expected versions and tells the versions that came of it, in order', async () => {
  const connected = fresh();
  await write(connected, records(700, 5000));
  const before = await versions(connected);
  const wanted = records(1500);
  const guard = new Recorder();
  const expected = wanted.map(({ path }) => before.get(path) ?? null);
  expect(await apply(connected, wanted, expected, guard)).toMatchObject({ written: 1500, conflicts: 0, failed: 0 });
  const after = await versions(connected);
  expect(guard.outcomes.map(({ path }) => path)).toEqual(wanted.map(({ path }) => path));
  for (const { path, result, replaced, version } of guard.outcomes) {
    expect(result).toBe('written');
    expect(replaced).toEqual(before.get(path) ?? null);
    expect(version).toEqual(after.get(path));
  }
});

test('shows the newer version where somebody wrote in between, and replaces exactly that one', async () => {
  const connected = fresh();
  await write(connected, records(3, 100));
  const before = await versions(connected);
  await write(connected, [{ path: 'c/00001', fields: fields(777) }]);
  const guard = new Recorder();
  const wanted = records(3);
  const result = await apply(connected, wanted, [...before.values()], guard);
  expect(result).toMatchObject({ written: 3, conflicts: 0 });
  expect(guard.mismatches.map(({ path, found }) => [path, decodeDocument(found!).fields])).toEqual([
    ['c/00001', fields(777)],
  ]);
  expect((await scanAll(connected)).map(({ body }) => decodeDocument(body).fields)).toEqual([0, 1, 2].map(fields));
});

test('a document that appeared, changed or went is left when the guard says so', async () => {
  const connected = fresh();
  await write(connected, records(2, 100));
  const before = await versions(connected);
  await write(connected, [
    { path: 'c/00001', fields: fields(777) },
    { path: 'c/00002', fields: fields(778) },
  ]);
  const guard = new Recorder();
  guard.decide = () => 'conflict';
  const gone: Version = { seconds: 1_700_000_000, nanos: 1000 };
  const expected = [before.get('c/00000')!, before.get('c/00001')!, null, gone];
  const result = await apply(connected, records(4), expected, guard);
  expect(result).toMatchObject({ written: 1, conflicts: 3 });
  expect(guard.mismatches.find(({ path }) => path === 'c/00003')?.found).toBeNull();
  expect((await scanAll(connected)).map(({ body }) => decodeDocument(body).fields)).toEqual([0, 777, 778].map(fields));
});

test.each(['overwrite', 'merge', 'skip_existing'] as const)(
  'deletes name the version they may delete, and what was gone before they were sent is not theirs (%s)',
  async (mode) => {
    const connected = fresh();
    await write(connected, records(4, 100));
    const before = await versions(connected);
    await write(connected, [{ path: 'c/00001', fields: fields(777) }, { path: 'c/00003' }]);
    const guard = new Recorder();
    guard.decide = () => 'conflict';
    const deletes: TestRecord[] = records(4).map(({ path }) => ({ path }));
    harness.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true, times: 1 });
    const result = await apply(connected, deletes, [...before.values()], guard, mode);
    expect(result).toMatchObject({ deleted: 2, conflicts: 2, failed: 0 });
    expect((await scanAll(connected)).map(({ path }) => path)).toEqual(['c/00001']);
  },
);

test('what an earlier run wrote without hearing so is recognised, in every mode, and nothing is taken for it that is not', async () => {
  for (const mode of ['overwrite', 'merge', 'skip_existing'] as const) {
    const connected = fresh();
    await write(connected, records(4));
    await write(connected, [{ path: 'c/00002', fields: fields(999) }]);
    const guard = new Recorder();
    guard.repeatedRecords = 10;
    guard.decide = () => 'conflict';
    const result = await apply(connected, records(6), Array(6).fill(null), guard, mode);
    expect(result).toMatchObject({ written: 5, conflicts: mode === 'skip_existing' ? 0 : 1 });
    expect(guard.outcomes[2]?.result).toBe(mode === 'skip_existing' ? 'skipped' : 'conflict');
  }
});

test('an equal document that is older than the work is never taken for one that it created', async () => {
  const connected = fresh();
  await write(connected, records(1));
  const guard = new Recorder();
  guard.repeatedRecords = 10;
  guard.began = instantToParts(await connected.source.snapshotTime());
  const result = await apply(connected, records(1), [null], guard, 'skip_existing');
  expect(result).toMatchObject({ written: 0, skipped: 1 });
});

test.each(['overwrite', 'merge', 'skip_existing'] as const)(
  'what somebody made just so before it was sent is theirs, also where the answer is lost (%s)',
  async (mode) => {
    const connected = fresh();
    await write(connected, records(2, 100));
    const [, before] = [...(await versions(connected)).values()];
    const [ours, changed, made] = records(3);
    await write(connected, [{ path: ours!.path }, changed!, made!]);
    const found = await versions(connected);
    const guard = new Recorder();
    harness.sandbox.control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true, times: 1 });
    await apply(connected, records(3), [null, before!, null], guard, mode);
    const theirs = [changed!, made!].map(({ path }) => [path, found.get(path)]);
    const told = guard.outcomes.map(({ path, result, replaced }) => [path, result === 'written' ? replaced : result]);
    const isLeft = mode === 'skip_existing';
    expect(told).toEqual([[ours!.path, null], ...(isLeft ? theirs.map(([path]) => [path, 'skipped']) : theirs)]);
    expect(guard.mismatches).toHaveLength(isLeft ? 0 : 2);
  },
);

test.each([
  ['is known again', 1],
  ['is found when it is given up', 1000],
])('a write that is answered as one of which nobody knows, and was made, %s', async (_, times) => {
  const connected = fresh();
  const { channel } = connected.target.client;
  const send = channel.unaryFramed.bind(channel);
  let asked = 0;
  channel.unaryFramed = async (...call) => {
    const answer = await send(...call);
    if (asked++ >= times) return answer;
    // Empty results, and the status UNAVAILABLE: of two writes for the second, and then for that alone.
    const unavailable = [0x12, 2, 0x08, 14];
    return Buffer.from(asked === 1 ? [0x0a, 0, 0x0a, 0, 0x12, 0, ...unavailable] : [0x0a, 0, ...unavailable]);
  };
  const guard = new Recorder();
  expect(await apply(connected, records(2), [null, null], guard)).toMatchObject({ written: 2, failed: 0 });
  expect(guard.mismatches).toEqual([]);
  expect(guard.outcomes.map(({ result, replaced }) => [result, replaced])).toEqual(Array(2).fill(['written', null]));
  expect(guard.outcomes[1]!.version).toEqual((await versions(connected)).get('c/00001'));
});

test('a stop ends it gently: what was sent is told, and nothing is sent afterwards', async () => {
  const connected = fresh();
  const stop = new AbortController();
  const guard = new Recorder();
  const batches = batchesOf(connected.target.database, records(20_000));
  const result = await connected.target.apply(batches, {
    mode: 'overwrite',
    rampUp: false,
    guard,
    stop: stop.signal,
    onProgress: () => stop.abort(),
  });
  const stored = (await scanAll(connected)).length;
  expect(result.written).toBe(stored);
  expect(guard.outcomes.length).toBe(stored);
  expect(stored).toBeLessThan(20_000);
});

test('a merge over documents that somebody changed meanwhile merges into what is there then', async () => {
  const connected = fresh();
  const map = (inner: Record<string, JsonValue>) => ({ mapValue: { fields: inner } });
  const one = { integerValue: '1' };
  const numbers = { arrayValue: { values: [{ doubleValue: 1 }] } };
  const vector = map({ __type__: { stringValue: '__vector__' }, value: numbers });
  const records = (first: JsonValue, second: JsonValue) =>
    [first, second].map((m, index) => ({ path: `c/${index}`, fields: { m } }));
  await write(connected, records(one, map({ a: one })));
  const expected = [...(await versions(connected)).values()];
  let isChanged = false;
  const guard = Object.assign(new Recorder(), {
    beforeSend: async () => {
      if (isChanged) return;
      isChanged = true;
      await write(connected, records(map({ theirs: one }), vector));
    },
  });
  const coming = batchesOf(connected.source.database, records(map({}), map({ b: one })));
  await connected.target.apply(expecting(coming, expected), { mode: 'merge', rampUp: false, guard });
  expect(guard.mismatches).toHaveLength(2);
  const stored = (await scanAll(connected)).map(({ body }) => decodeDocument(body).fields.m);
  expect(stored).toEqual([map({ theirs: one }), map({ b: one })]);
});

test('a merge whose answer is lost is known again over what somebody had changed: an undo brings that back, and not the merge', async () => {
  const connected = fresh();
  const one = { integerValue: '1' };
  const of = (fields: Record<string, JsonValue>) => ['changed', 'deleted'].map((id) => ({ path: `c/${id}`, fields }));
  await write(connected, of({ former: one }));
  const expected = [...(await versions(connected)).values()];
  const guard = new Recorder();
  guard.formerDocument = (await scanAll(connected))[0]!.body;
  await write(connected, [{ path: 'c/changed', fields: { theirs: one } }, { path: 'c/deleted' }]);
  const changed = (await versions(connected)).get('c/changed')!;
  const fault = { method: 'BatchWrite', status: 'UNAVAILABLE', afterEffect: true, skip: 1, times: 1 } as const;
  harness.sandbox.control.addFault(fault);
  expect(await apply(connected, of({ ours: one }), expected, guard, 'merge')).toMatchObject({ written: 2 });
  expect(guard.outcomes.map(({ replaced }) => replaced)).toEqual([changed, null]);
  expect(guard.mismatches).toHaveLength(2);
});

test('the counts of a checkpoint are those of what it speaks of, however the requests overtake each other', async () => {
  const connected = fresh();
  const records = [...Array(3_000)].map((_, index) => ({ path: `c/${10_000 + index}`, fields: fields(index) }));
  let requests = 0;
  const told: { written: number; settledRecords: number }[] = [];
  const result = await connected.target.apply(batchesOf(connected.source.database, records), {
    mode: 'overwrite',
    rampUp: false,
    guard: Object.assign(new Recorder(), {
      // The first is sent when the others are through, but for the second.
      beforeSend: async () => {
        const request = requests++;
        if (request < 2) await sleep([200, 500][request]);
      },
    }),
    onProgress: ({ written, settledRecords }) => void told.push({ written, settledRecords }),
  });
  expect(result.written).toBe(3_000);
  expect(told.length).toBeGreaterThan(0);
  for (const { written, settledRecords } of told) expect(written).toBe(settledRecords);
});

test('what belongs to somebody else by now is not sent, nor sent again', async () => {
  const connected = fresh();
  harness.sandbox.control.addFault({ method: 'BatchWrite', status: 'RESOURCE_EXHAUSTED', times: 1 });
  let isLost = false;
  const guard = Object.assign(new Recorder(), {
    beforeSend: () => {
      if (isLost) throw new Error('lost');
      isLost = true;
    },
  });
  const records = [{ path: 'c/1', fields: fields(1) }];
  const work = connected.target.apply(batchesOf(connected.source.database, records), {
    mode: 'overwrite',
    rampUp: false,
    guard,
  });
  await expect(work).rejects.toThrow('lost');
  expect(await scanAll(connected)).toEqual([]);
});

/** Work that ends with an error: whether the guard was told of everything that is written. */
async function brokenOff(connected: ConnectedFirestore, batches: AsyncIterable<RecordBatch>, signal?: AbortSignal) {
  const told: boolean[] = [];
  const guard = Object.assign(new Recorder(), { onBrokenOff: (isTold: boolean) => void told.push(isTold) });
  const options = { mode: 'overwrite' as const, rampUp: false, guard, ...(signal ? { signal } : {}) };
  await expect(connected.target.apply(batches, options)).rejects.toThrow();
  const written = guard.outcomes.filter(({ result }) => result === 'written').length;
  return { told, written, stored: (await scanAll(connected)).length };
}

const manyRecords = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ path: `c/${10_000 + index}`, fields: fields(index) }));

test('work that breaks off hears what is under way, and says whether everything is told', async () => {
  const connected = fresh();
  const all = () => batchesOf(connected.source.database, manyRecords(1_500));
  const { control } = harness.sandbox;

  control.addFault({ method: 'BatchWrite', status: 'PERMISSION_DENIED', skip: 1 });
  const refused = await brokenOff(connected, all());
  expect(refused).toEqual({ told: [true], written: refused.stored, stored: 500 });

  control.clearFaults();
  control.addFault({ method: 'BatchWrite', latencyMs: 500 });
  async function* broken() {
    yield* all();
    throw new Error('cannot be read');
  }
  expect(await brokenOff(connected, broken())).toMatchObject({ told: [true], written: 1_000 });

  control.clearFaults();
  control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', skip: 1, afterEffect: true });
  expect(await brokenOff(connected, all())).toMatchObject({ told: [false] });

  control.clearFaults();
  control.addFault({ method: 'BatchWrite', latencyMs: 60_000 });
  expect(await brokenOff(connected, all(), AbortSignal.timeout(300))).toMatchObject({ told: [false] });
});

test('work that breaks off without a guard leaves nothing under way: what was refused for a moment is not sent again behind its back', {
  tags: 'long',
}, async () => {
  const connected = fresh();
  const { control } = harness.sandbox;
  control.addFault({ method: 'BatchWrite', status: 'UNAVAILABLE', times: 1 });
  async function* broken() {
    yield* batchesOf(connected.source.database, manyRecords(600));
    throw new Error('cannot be read');
  }
  await expect(connected.target.apply(broken(), { mode: 'overwrite', rampUp: false })).rejects.toThrow();
  const calls = () => control.counters().methods.BatchWrite?.calls;
  const before = calls();
  await sleep(3_000);
  expect(calls()).toBe(before);
});

test('outcomes that nobody could take are not told', async () => {
  const connected = fresh();
  const told: boolean[] = [];
  const guard: WriteGuard = Object.assign(new Recorder(), {
    onSettled: () => Promise.reject(new Error('the journal is full')),
    onBrokenOff: (isTold: boolean) => void told.push(isTold),
  });
  const work = connected.target.apply(batchesOf(connected.source.database, manyRecords(100)), {
    mode: 'overwrite',
    rampUp: false,
    guard,
  });
  await expect(work).rejects.toThrow();
  expect(told).toEqual([false]);
});
