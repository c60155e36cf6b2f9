import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CaptureGap, everything, wholeDatabase } from '../../../ports/index.ts';
import {
  collect,
  type FirestoreHarness,
  fields,
  startFirestoreHarness,
  storedIn,
  write,
} from '../testing/firestore-harness.ts';
import { Recorder } from '../testing/recorder.ts';

let bench: FirestoreHarness;
beforeAll(async () => {
  bench = await startFirestoreHarness();
});
afterAll(() => bench.stop());

test('what lies in a collection that only a scan finds is handed over, however old, and the time since the last proof is a gap', async () => {
  const connected = bench.connect({ projectId: 'hidden' });
  await write(connected, [{ path: 'c/a', fields: fields(1) }]);
  const provedThrough = await connected.source.snapshotTime();
  // Far from where a look around passes.
  for (let start = 0; start < 2000; start += 500)
    await write(
      connected,
      [...Array(500)].map((_, index) => ({ path: `z/${start + index}`, fields: fields(1) })),
    );
  const readTime = await connected.source.snapshotTime();
  const knownNames = () => connected.source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true });
  await write(connected, [{ path: 'z/1234/hidden/1', fields: fields(1) }]);
  const from = await connected.source.snapshotTime();
  const position = { collectionIds: ['c', 'z'], provedThrough, resumeToken: null };
  const recorder = new Recorder(connected, from, { position, knownNames });
  await write(connected, [{ path: 'c/a', fields: fields(2) }]);
  await recorder.until(() => recorder.changes().includes('put z/1234/hidden/1'));
  expect(recorder.gaps[0]).toMatchObject({ from: provedThrough, reason: expect.stringContaining('nobody knew of') });
  await write(connected, [{ path: 'z/1234/hidden/2', fields: fields(1) }]);
  await recorder.until(() => recorder.changes().includes('put z/1234/hidden/2'));
  await recorder.stop();
});

test('where one unknown collection is found the others are too, before time goes on: behind a gap nothing is missing', {
  tags: 'long',
}, async () => {
  const connected = bench.connect({ projectId: 'many-hidden' });
  await write(
    connected,
    [...Array(100)].map((_, index) => ({ path: `a/${index}`, fields: fields(index) })),
  );
  const from = await connected.source.snapshotTime();
  const scan = (readTime: string) =>
    connected.source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true });
  const recorder = new Recorder(connected, from, { knownNames: () => scan(from) });
  await recorder.until(() => recorder.batches.length > 0);
  const hidden = [...Array(50)].map((_, index) => `a/${(index * 7) % 100}/n${index}/q`);
  await write(
    connected,
    hidden.map((path) => ({ path, fields: fields(1) })),
  );
  const written = await connected.source.snapshotTime();
  await write(connected, [{ path: 'a/2', fields: fields(3) }]);
  await recorder.until(() => hidden.every((path) => recorder.changes().includes(`put ${path}`)));
  await recorder.stop();
  const whole = recorder.batches.findIndex((batch) => batch.coveredThrough >= written);
  const told = recorder.batches.slice(whole).flatMap(({ gap }) => (gap === undefined || gap.isBrief ? [] : [gap]));
  const heard = storedIn(recorder.batches.slice(0, whole + 1).flatMap(({ records }) => records ?? []));
  const isWhole = hidden.every((path) => heard.some((record) => record.path === path));
  // Heard in time, or the time without them is told.
  expect(isWhole || told.some((gap) => gap.from < written)).toBe(true);
  for (const { through } of told) {
    const before = recorder.batches.filter((batch) => batch.coveredThrough <= through);
    const known = storedIn(before.flatMap(({ records }) => records ?? [])).map(({ path }) => path);
    expect(known).toEqual(expect.arrayContaining(hidden));
  }
});

test('a collection that appears while nobody takes what is captured is a gap: what came and went in it was not heard', async () => {
  // A database of its own for each try: what is written again unchanged is no change.
  const connected = bench.connect({ projectId: `appearing-${randomUUID()}` });
  await write(connected, [{ path: 'a/1', fields: fields(1) }]);
  const from = await connected.source.snapshotTime();
  const knownNames = (readTime: string) =>
    connected.source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true });
  const ending = new AbortController();
  const gaps: CaptureGap[] = [];
  const heard: string[] = [];
  const options = { from, scope: wholeDatabase, knownNames, batchIntervalMs: 30, exactWithinMs: 300 };
  let isStored = false;
  for await (const batch of connected.capture.capture({ ...options, ending: ending.signal })) {
    if (batch.gap && !batch.gap.isBrief) gaps.push(batch.gap);
    if (batch.records) heard.push(...storedIn([batch.records]).map(({ path }) => path));
    if (heard.includes('new/stays')) ending.abort();
    if (isStored) continue;
    // Storage takes its time.
    isStored = true;
    await write(connected, [{ path: 'new/passing', fields: fields(1) }]);
    await write(connected, [{ path: 'new/passing' }]);
    await write(connected, [{ path: 'new/stays', fields: fields(1) }]);
    await sleep(1000);
    await write(connected, [{ path: 'a/1', fields: fields(2) }]);
  }
  expect(heard).toContain('new/stays');
  // On a busy machine the listening itself may be cut off for a moment: such a gap is quiet.
  const told = gaps.filter(({ isQuiet }) => !isQuiet);
  expect(told).toMatchObject([{ reason: expect.stringContaining('A collection appeared') }]);
});

test('what comes and goes in a new collection before it is followed is there at the marks of that time', {
  tags: 'long',
}, async () => {
  const connected = bench.connect({ projectId: 'first-seconds' });
  await write(connected, [{ path: 'a/1', fields: fields(1) }]);
  const from = await connected.source.snapshotTime();
  const knownNames = (readTime: string) =>
    connected.source.scan(everything, { scope: wholeDatabase, readTime, namesOnly: true });
  const recorder = new Recorder(connected, from, { knownNames, batchIntervalMs: 4000 });
  await recorder.until(() => recorder.batches.length > 0);
  const moments: string[] = [];
  const live = async (records: Parameters<typeof write>[1]) => {
    await write(connected, [...records, { path: 'a/1', fields: fields(moments.length + 2) }]);
    moments.push(await connected.source.snapshotTime());
    await sleep(500);
  };
  await live([
    { path: 'new/passing', fields: fields(1) },
    { path: 'new/stays', fields: fields(1) },
  ]);
  await live([
    { path: 'new/passing', fields: fields(2) },
    { path: 'new/returns', fields: fields(1) },
  ]);
  await live([{ path: 'new/passing' }, { path: 'new/returns' }, { path: 'new/stays', fields: fields(2) }]);
  await live([{ path: 'new/returns', fields: fields(3) }]);
  await recorder.until(() => recorder.covers(moments.at(-1)!));
  await recorder.stop();
  expect(recorder.gaps).toEqual([]);
  const records = storedIn(recorder.batches.flatMap((batch) => batch.records ?? []));
  const marks = recorder.batches.flatMap((batch) => batch.marks);
  for (const [index, moment] of moments.entries()) {
    const mark = marks.find((each) => each >= moment)!;
    if (index + 1 < moments.length) expect(mark < moments[index + 1]!).toBe(true);
    const state = new Map<string, string>();
    for (const { path, kind, content } of records.filter(({ at }) => at <= mark))
      if (kind === 1) state.set(path, content);
      else state.delete(path);
    const reads = { scope: wholeDatabase, readTime: mark };
    const there = storedIn(await collect(connected.source.scan(everything, reads)));
    expect(Object.fromEntries(state), mark).toEqual(
      Object.fromEntries(there.map(({ path, content }) => [path, content])),
    );
  }
});
