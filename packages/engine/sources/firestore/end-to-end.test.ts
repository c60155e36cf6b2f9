// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeyRing } from '../../crypto/key-ring.ts';
import { contentsOf } from '../../fixtures/backup-harness.ts';
import { runBackup } from '../../pipeline/backup/run-backup.ts';
import { LogReader } from '../../pipeline/log/log-reader.ts';
import { createLog, LogWriter } from '../../pipeline/log/log-writer.ts';
import { viewAt } from '../../pipeline/log/view-at.ts';
import { restorePuts } from '../../pipeline/restore/restore.ts';
import { SegmentCodec } from '../../pipeline/segments/segment-codec.ts';
import { openChain, viewOfChain } from '../../pipeline/view/open-view.ts';
import { type Instant, wholeDatabase } from '../../ports/index.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import type { ConnectedFirestore } from './connect.ts';
import { type FirestoreHarness, fields, scanAll, startFirestoreHarness, write } from './testing/firestore-harness.ts';

let harness: FirestoreHarness;
const store = createMemoryStore();
const keys = new KeyRing([{ key: new Uint8Array(32).fill(7) }]);
const codec = new SegmentCodec();
const sample = { project: 'sample', database: '(default)' };
let source: ConnectedFirestore;

beforeAll(async () => {
  harness = await startFirestoreHarness();
  harness.sandbox.control.loadSample(sample, { documents: 2_000, seed: 11 });
  source = harness.connect({ projectId: 'sample', retry: { attemptsMax: 30, delayBaseMs: 2, delayMaxMs: 20 } });
});
afterAll(() => harness.stop());

const chainOf = (backupId: string) => openChain({ store, backupId, keys, codec });

/** Every document at an instant, by path, to the byte. */
async function databaseAt(readTime: Instant): Promise<Map<string, string>> {
  return new Map((await scanAll(source, { readTime })).map(({ path, body }) => [path, body.toString('hex')]));
}

async function backUp(backupId: string, parent?: string): Promise<Instant> {
  const parentChain = parent === undefined ? [] : await chainOf(parent);
  const snapshotTime = await source.source.snapshotTime();
  await runBackup({
    source: source.source,
    store,
    keys,
    codec,
    backupId,
    parentChain,
    snapshotTime,
    segmentBytes: 50_000,
  });
  return snapshotTime;
}

test('a sample database with every value type: backup, increment and any captured instant equal the database then', async () => {
  harness.sandbox.control.addFault({ method: 'RunQuery', breakAfterDocuments: 150, reset: true, probability: 0.3 });
  harness.sandbox.control.addFault({ method: 'BatchGetDocuments', status: 'UNAVAILABLE', probability: 0.3 });
  const first = await backUp('bkp_full');
  expect(await contentsOf(viewOfChain(await chainOf('bkp_full')))).toEqual(await databaseAt(first));

  const paths = [...(await databaseAt(first)).keys()];
  await write(source, [
    { path: paths[5]! },
    { path: paths[9]!, fields: fields(9) },
    { path: 'added/1', fields: fields(1) },
  ]);
  const second = await backUp('bkp_more', 'bkp_full');
  expect(await contentsOf(viewOfChain(await chainOf('bkp_more')))).toEqual(await databaseAt(second));

  const scope = wholeDatabase;
  const { database } = source.source;
  const context = await createLog({ store, keys, logId: 'log_1', database, scope, createdAt: second, from: second });
  const writer = new LogWriter({ store, codec, context, nextSequence: 0 });
  const controller = new AbortController();
  let covered = second;
  const capturing = (async () => {
    const options = { from: second, scope, batchIntervalMs: 20, signal: controller.signal };
    for await (const batch of source.capture.capture(options)) {
      await writer.append(batch);
      covered = batch.coveredThrough;
    }
  })().catch(() => undefined);
  const coveredThrough = async (instant: Instant) => {
    while (covered < instant) await sleep(10);
  };
  const instants: Instant[] = [];
  for (let round = 0; round < 14; round += 1) {
    await write(source, [{ path: `c/${round % 3}`, fields: fields(round) }, { path: paths[20 + round]! }]);
    await sleep(round * 30);
    instants.push(await source.source.snapshotTime());
    // Collections deep below missing documents are found by the first proof; a base behind it reaches what comes after.
    if (round === 9) {
      await coveredThrough(instants.at(-1)!);
      await backUp('bkp_after', 'bkp_more');
    }
  }
  await write(source, [{ path: 'c/end', fields: fields(1) }]);
  await coveredThrough(instants.at(-1)!);
  controller.abort();
  await capturing;
  await writer.flush();

  const log = await LogReader.open(store, 'log_1', keys);
  const coverage = await log.coverage();
  const [last, chain] = [instants.at(-1)!, await chainOf('bkp_after')];
  const view = await viewAt({ chain, log, instant: last, scratch: createMemoryStore(), codec, coverage });
  expect(await contentsOf(view)).toEqual(await databaseAt(last));
  harness.sandbox.control.clearFaults();

  const target = harness.connect({ projectId: 'copy' });
  const how = { mode: 'overwrite', rampUp: false, rewriteReferences: true } as const;
  const result = await restorePuts({ view, target: target.target, ...how });
  expect(result).toMatchObject({ written: (await databaseAt(last)).size, failed: 0, errors: [] });
  const copied = await scanAll(target);
  expect(copied.map(({ path }) => path)).toEqual([...(await databaseAt(last)).keys()]);
  expect(copied.some(({ body }) => body.includes('projects/sample/databases'))).toBe(false);
});
