import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseUnderTest, recordsOf } from '../../conformance/database-under-test.ts';
import { everyKind } from '../../conformance/document-source.conformance.ts';
import { BackupHarness } from '../../fixtures/backup-harness.ts';
import { everything, wholeDatabase } from '../../ports/index.ts';
import { type ConnectedFirestore, connectFirestore } from '../../sources/firestore/connect.ts';
import { type ForeignFirestore, foreignFirestores } from '../../testing/foreign-firestore.ts';
import { runBackup } from '../backup/run-backup.ts';
import { diffSides } from '../contents/diff.ts';
import { verifyChain } from '../contents/verify-backup.ts';
import { restorePuts } from './restore.ts';

describe.for(foreignFirestores)('$title', ({ isInstalled, start }) => {
  let foreign: ForeignFirestore;
  beforeAll(async () => {
    if (isInstalled) foreign = await start();
  });
  afterAll(() => foreign?.stop());

  const connect = (projectId: string): ConnectedFirestore =>
    connectFirestore({ projectId, connection: { type: 'emulator', host: foreign.address } });

  async function fill({ target }: Pick<DatabaseUnderTest, 'target'>, documents: number): Promise<void> {
    const fields = everyKind(target.database);
    const given = Array.from({ length: documents }, (_, index) => ({
      path: `c${index % 3}/d${index}/e/${index}`,
      fields,
    }));
    const result = await target.apply(recordsOf(target.database, given), { mode: 'overwrite', rampUp: false });
    expect(result).toMatchObject({ written: documents, failed: 0 });
  }

  async function changesBetween(view: Awaited<ReturnType<BackupHarness['view']>>, { source }: ConnectedFirestore) {
    const readTime = await source.snapshotTime();
    const records = source.scan(everything, { scope: wholeDatabase, readTime });
    const changes = [];
    const sides = [
      { database: view.database, records: view.records() },
      { database: source.database, records },
    ] as const;
    for await (const change of diffSides(...sides)) changes.push(change);
    return changes;
  }

  test.skipIf(!isInstalled)(
    'is backed up, and comes back in another project with values of every kind',
    { tags: 'long' },
    async () => {
      const harness = new BackupHarness();
      const [origin, elsewhere] = [connect('origin'), connect('elsewhere')];
      await fill(origin, 700);
      await runBackup({ ...harness, source: origin.source, backupId: 'full', segmentBytes: 20_000 });
      const view = await harness.view('full');
      expect(view.body!.counts.documents).toBe(700);
      expect(await verifyChain(await harness.chain('full'), view)).toMatchObject({ isIntact: true, documents: 700 });
      const restored = await restorePuts({
        view,
        target: elsewhere.target,
        mode: 'overwrite',
        rampUp: false,
        rewriteReferences: true,
      });
      expect(restored).toMatchObject({ written: 700, failed: 0 });
      expect(await changesBetween(view, elsewhere)).toEqual([]);
      await Promise.all([origin.close(), elsewhere.close()]);
    },
  );

  test.skipIf(!isInstalled)('increments of it hold what changed and what went', async () => {
    const harness = new BackupHarness();
    const origin = connect('increments');
    await fill(origin, 60);
    await runBackup({ ...harness, source: origin.source, backupId: 'full' });
    const changed = [{ path: 'c0/d0/e/0' }, { path: 'c1/d1/e/1', fields: { n: { integerValue: '1' } } }];
    const edit = recordsOf(origin.target.database, changed);
    await origin.target.apply(edit, { mode: 'overwrite', rampUp: false });
    const parentChain = await harness.chain('full');
    await runBackup({ ...harness, source: origin.source, backupId: 'increment', parentChain });
    const view = await harness.view('increment');
    expect(view.body!.counts).toMatchObject({ documents: 59, puts: 1, deletes: 1 });
    expect(await changesBetween(view, origin)).toEqual([]);
    await origin.close();
  });
});
