import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { testDatabase, testDocument } from '../../fixtures/arbitrary-documents.ts';
import { BackupHarness, contentsOf } from '../../fixtures/backup-harness.ts';
import { MemoryDatabase } from '../../fixtures/memory-source.ts';
import { batchOf } from '../../fixtures/record-batches.ts';
import { encodeDeletedDocument } from '../../ports/deleted-document.ts';
import { wholeDatabase } from '../../ports/document-source.ts';
import { instantFromParts } from '../../ports/instant.ts';
import { recordKind } from '../../ports/record.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { sortRecords } from '../view/sorted-runs.ts';
import { View } from '../view/view.ts';
import { coverageOf, type LogGap, reachableFrom } from './log-coverage.ts';
import { LogReader, openLogManifest } from './log-reader.ts';
import { createLog, LogWriter } from './log-writer.ts';
import { viewAt } from './view-at.ts';

const base = 1_780_000_000;
const at = (offset: number) => instantFromParts(base + offset, 0);
const put = (path: string, offset: number, text: string) =>
  testDocument(path, { text: { stringValue: text } }, base + offset);

const told = (offset: number) => ({
  marks: [at(offset)],
  position: { collectionIds: [], provedThrough: at(offset), resumeToken: null },
});

/** A base backup of two documents at offset 0, then a log of three batches with a change every ten seconds. */
async function baseAndLog() {
  const harness = new BackupHarness();
  const source = new MemoryDatabase([put('a/1', -10, 'base'), put('a/2', -10, 'base')]);
  const backupId = await harness.backUp(source, { snapshotTime: at(0) });
  const context = await createLog({
    store: harness.store,
    keys: harness.keys,
    logId: 'log_1',
    database: testDatabase,
    scope: wholeDatabase,
    createdAt: at(0),
    from: at(0),
  });
  const writer = new LogWriter({ store: harness.store, codec: harness.codec, context, nextSequence: 0 });
  const gone = { path: 'a/2', bytes: encodeDeletedDocument(`${testDatabase}/documents/a/2`, at(20)) };
  await writer.append({
    records: batchOf([put('a/1', 9, 'one')]),
    coveredFrom: at(0),
    coveredThrough: at(10),
    ...told(10),
  });
  await writer.append({
    records: batchOf([gone], recordKind.delete),
    coveredFrom: at(10),
    coveredThrough: at(20),
    ...told(20),
  });
  expect(await writer.append({ records: null, coveredFrom: at(20), coveredThrough: at(25), ...told(25) })).toBeNull();
  await writer.append({
    records: batchOf([put('b/1', 27, 'late'), put('a/1', 28, 'two'), put('a/1', 29, 'three')]),
    coveredFrom: at(25),
    coveredThrough: at(30),
    ...told(30),
  });
  const log = await LogReader.open(harness.store, 'log_1', harness.keys);
  const view = async (offset: number) =>
    await viewAt({
      chain: await harness.chain(backupId),
      log,
      instant: at(offset),
      scratch: createMemoryStore(),
      codec: harness.codec,
    });
  return { harness, backupId, log, writer, view };
}

describe('a log', () => {
  test('takes a base to any captured instant', async () => {
    const { view } = await baseAndLog();
    const texts = async (offset: number) =>
      Object.fromEntries(
        [...(await contentsOf(await view(offset)))].map(([path, hex]) => [
          path,
          Buffer.from(hex, 'hex')
            .toString('latin1')
            .split('/')
            .at(-1)!
            .match(/base|one|two|three|late/)?.[0],
        ]),
      );
    expect(await texts(0)).toEqual({ 'a/1': 'base', 'a/2': 'base' });
    expect(await texts(15)).toEqual({ 'a/1': 'one', 'a/2': 'base' });
    expect(await texts(22)).toEqual({ 'a/1': 'one' });
    expect(await texts(29)).toEqual({ 'a/1': 'two', 'b/1': 'late' });
    expect(await texts(30)).toEqual({ 'a/1': 'three', 'b/1': 'late' });
  });

  test('brings what was repaired although it is older than the base, which was made of a log that had missed it', async () => {
    const { view, writer } = await baseAndLog();
    const repair = { records: batchOf([put('c/1', -20, 'missed')]), coveredFrom: at(30), coveredThrough: at(31) };
    await writer.append({ ...repair, ...told(31) });
    expect([...(await contentsOf(await view(30))).keys()]).not.toContain('c/1');
    expect([...(await contentsOf(await view(31))).keys()]).toContain('c/1');
  });

  test('refuses instants it has not captured and names the nearest that it has', async () => {
    const { view } = await baseAndLog();
    await expect(view(31)).rejects.toMatchObject({
      code: 'POINT_IN_TIME_UNAVAILABLE',
      details: { before: at(30), after: null },
    });
    await expect(view(-1)).rejects.toMatchObject({
      code: 'POINT_IN_TIME_UNAVAILABLE',
      details: { before: null, after: at(0) },
    });
  });

  test('tells quiet stretches with the next change, and refuses instants beyond a lost segment', async () => {
    const { harness, log, view } = await baseAndLog();
    expect(
      (await log.coverage()).stretches.map(({ coveredFrom, coveredThrough }) => [coveredFrom, coveredThrough]),
    ).toEqual([
      [at(0), at(10)],
      [at(10), at(20)],
      [at(20), at(30)],
    ]);
    const keys: string[] = [];
    for await (const { key } of harness.store.list('logs/log_1/segments/')) keys.push(key);
    await harness.store.delete([keys[1]!]);
    await expect(view(25)).rejects.toMatchObject({
      code: 'POINT_IN_TIME_UNAVAILABLE',
      details: { before: at(10) },
    });
    expect((await contentsOf(await view(10))).size).toBe(2);
  });

  test('notices changed bytes and segments of another log', async () => {
    const { harness, log } = await baseAndLog();
    for await (const { key } of harness.store.list('logs/log_1/segments/')) {
      const bytes = new Uint8Array(await harness.store.get(key));
      for (let index = 0; index < bytes.length; index += 7) {
        const changed = bytes.slice();
        changed[index] = changed[index]! ^ 4;
        await harness.store.put(key, changed);
        await expect(log.coverage(), `${key} ${index}`).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
      }
      await harness.store.put(key, bytes);
    }
  });

  test('keeps every captured version of a document', async () => {
    const { log } = await baseAndLog();
    expect((await log.history('a/1')).map(({ time }) => time)).toEqual(
      [9, 28, 29].map((offset) => instantFromParts(base + offset, 123_456_000)),
    );
    expect(await log.history('a/2')).toEqual([{ time: at(20), bytes: undefined }]);
  });
});

test('instants inside a gap are unreachable; behind it they are reachable only when deletions were seen', () => {
  const gap = { from: at(10), through: at(20), reason: 'outage' };
  const stretches = (told: typeof gap & { deletionsUnknown?: true }) => [
    { coveredFrom: at(0), coveredThrough: at(10), marks: [], gap: null },
    { coveredFrom: at(10), coveredThrough: at(30), marks: [], gap: told },
  ];
  expect(reachableFrom(at(0), coverageOf(stretches(gap)))).toEqual([
    { from: at(0), through: at(10) },
    { from: at(20), through: at(30) },
  ]);
  expect(reachableFrom(at(0), coverageOf(stretches({ ...gap, deletionsUnknown: true })))).toEqual([
    { from: at(0), through: at(10) },
  ]);
  expect(reachableFrom(at(25), coverageOf(stretches({ ...gap, deletionsUnknown: true })))).toEqual([
    { from: at(25), through: at(30) },
  ]);
});

test('from a base that was read inside a gap, whatever its ends have in common, no other instant is reached', () => {
  const gap = { from: at(10), through: at(20), reason: 'outage' };
  const stretches = (told: LogGap) => [{ coveredFrom: at(0), coveredThrough: at(30), marks: [], gap: told }];
  for (const told of [gap, { ...gap, isQuiet: true as const }, { ...gap, deletionsUnknown: true as const }]) {
    const coverage = coverageOf(stretches(told));
    expect(reachableFrom(at(15), coverage)).toEqual([{ from: at(15), through: at(15) }]);
    expect(reachableFrom(at(5), coverage, at(15))).toEqual([{ from: at(5), through: at(5) }]);
    expect(reachableFrom(at(20), coverage)).toEqual([{ from: at(20), through: at(30) }]);
    expect(reachableFrom(at(10), coverage)[0]).toEqual({ from: at(10), through: at(10) });
  }
});

test('where the beginning of a gap was filled later, its instants are reached, and what was read in it still leads nowhere', () => {
  const filled = { from: at(15), through: at(20), reason: 'outage', filledFrom: at(10) };
  const coverage = coverageOf([{ coveredFrom: at(0), coveredThrough: at(30), marks: [], gap: filled }]);
  const through = [
    { from: at(0), through: at(15) },
    { from: at(20), through: at(30) },
  ];
  expect(reachableFrom(at(0), coverage)).toEqual(through);
  expect(reachableFrom(at(10), coverage)).toEqual([{ from: at(10), through: at(15) }, through[1]]);
  expect(reachableFrom(at(12), coverage)).toEqual([{ from: at(12), through: at(12) }]);
});

async function* inGroups<One>(records: readonly One[]): AsyncGenerator<readonly One[]> {
  for (let from = 0; from < records.length; from += 7) yield records.slice(from, from + 7);
}

test('sorting in small runs gives the same as sorting everything at once; the last of a path wins', async () => {
  const record = fc.record({ id: fc.integer({ min: 0, max: 40 }), text: fc.string({ maxLength: 5 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 120 }), async (records) => {
      const harness = new BackupHarness();
      const given = records.map(({ id, text }) => ({
        kind: recordKind.put,
        path: `c/${id}`,
        body: put(`c/${id}`, 0, text).bytes,
      }));
      const layers = await sortRecords(inGroups(given), {
        database: testDatabase,
        scratch: harness.store,
        codec: harness.codec,
        runBytes: 300,
      });
      const expected = new Map(given.map(({ path, body }) => [path, Buffer.from(body).toString('hex')]));
      const contents = await contentsOf(new View(testDatabase, layers));
      expect(new Map([...contents].sort())).toEqual(new Map([...expected].sort()));
    }),
    { numRuns: 25 },
  );
});

test('a manifest that claims to have taken in what no log can be called is not believed', async () => {
  const { store, keys } = new BackupHarness();
  const manifest = { store, keys, database: testDatabase, scope: wholeDatabase, createdAt: at(0), from: at(0) };
  const taken = (logId: string) => [{ logId, from: at(0), through: at(10) }];
  await createLog({ ...manifest, logId: 'log_1', joined: taken('log_2') });
  expect((await openLogManifest(store, 'log_1', keys)).body.joined).toEqual(taken('log_2'));
  for (const [index, name] of ['', '..', '../backups', 'log_1/segments'].entries()) {
    await createLog({ ...manifest, logId: `log_x${index}`, joined: taken(name) });
    await expect(openLogManifest(store, `log_x${index}`, keys)).rejects.toMatchObject({ code: 'INTEGRITY_ERROR' });
  }
});
