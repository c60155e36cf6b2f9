import { loadSample, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BackupHarness } from '../../fixtures/backup-harness.ts';
import { manifestKey } from '../../format/object-keys.ts';
import { wholeDatabase } from '../../ports/document-source.ts';
import { isEngineError } from '../../ports/errors.ts';
import { everything } from '../../ports/path-order.ts';
import { connectFirestore } from '../../sources/firestore/index.ts';
import { memoryAttempts, withFaults, withRetries } from '../../stores/index.ts';
import { runBackup } from '../backup/run-backup.ts';
import { diffSides } from '../contents/diff.ts';
import { verifyChain } from '../contents/verify-backup.ts';
import { restorePuts } from './restore.ts';

let sandbox: Awaited<ReturnType<typeof startFirestoreSandbox>>;
const connect = (projectId: string) =>
  connectFirestore({ projectId, connection: { type: 'emulator', host: sandbox.address } });

beforeAll(async () => {
  sandbox = await startFirestoreSandbox();
  loadSample(sandbox.control.database({ project: 'shop', database: '(default)' }), { documents: 1500, seed: 3 });
});

afterAll(async () => await sandbox.stop());

async function liveRecords(connected: ReturnType<typeof connect>) {
  const readTime = await connected.source.snapshotTime();
  return {
    database: connected.source.database,
    records: connected.source.scan(everything, { scope: wholeDatabase, readTime }),
  };
}

describe('the sample database with every value type, odd ids and missing parents', () => {
  test.each(['shop', 'elsewhere'])('comes back complete in project %s, references with it', async (project) => {
    const harness = new BackupHarness();
    const [shop, target] = [connect('shop'), connect(project)];
    await runBackup({ ...harness, source: shop.source, backupId: 'b', segmentBytes: 20_000 });
    const view = await harness.view('b');
    const how = { mode: 'overwrite', rampUp: false, rewriteReferences: true } as const;
    const result = await restorePuts({ view, target: target.target, ...how });
    expect(result).toMatchObject({ failed: 0, written: view.body!.counts.documents });
    const changes = [];
    for await (const change of diffSides(
      { database: view.database, records: view.records() },
      await liveRecords(target),
    ))
      changes.push(change);
    expect(changes).toEqual([]);
    await Promise.all([shop.close(), target.close()]);
  });

  test('increments of it hold exactly what changed', async () => {
    const harness = new BackupHarness();
    const shop = connect('shop');
    const full = await runBackup({ ...harness, source: shop.source, backupId: 'full' });
    const increment = await runBackup({
      ...harness,
      source: shop.source,
      backupId: 'inc',
      parentChain: await harness.chain('full'),
    });
    expect(increment.body.counts).toMatchObject({ puts: 0, deletes: 0, documents: full.body.counts.documents });
    expect(increment.body.collections).toEqual(full.body.collections);
    await shop.close();
  });
});

test('a store that fails, throttles, delays and corrupts never leads to a wrong completed backup', {
  tags: 'long',
  timeout: 60_000,
}, async () => {
  const shop = connect('shop');
  const outcomes = { completed: 0, failed: 0 };
  for (let seed = 1; seed <= 8; seed += 1) {
    const plain = memoryAttempts();
    const faulty = withFaults(plain, {
      errorRate: 0.25,
      throttleRate: 0.3,
      delayRate: 0.15,
      corruptRate: 0.01,
      lostAckRate: 0.02,
      seed,
    });
    const retry = { attemptsMax: 7, delayMsMin: 1, delayMsMax: 4 };
    const writing = new BackupHarness(withRetries(faulty, retry));
    const outcome = await runBackup({ ...writing, source: shop.source, backupId: 'b', segmentBytes: 50_000 }).then(
      () => 'completed' as const,
      (error: unknown) => {
        expect(isEngineError(error), String(error)).toBe(true);
        return 'failed' as const;
      },
    );
    outcomes[outcome] += 1;
    const reading = new BackupHarness(withRetries(plain));
    if (outcome === 'failed') expect(await reading.store.head(manifestKey('b'))).toBeUndefined();
    else expect(await verifyChain(await reading.chain('b'), await reading.view('b'))).toMatchObject({ isIntact: true });
  }
  expect(outcomes.completed).toBeGreaterThan(0);
  await shop.close();
});
