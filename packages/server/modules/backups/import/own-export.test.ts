// @module-tag long
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FieldValue, GeoPoint, Timestamp } from '@google-cloud/firestore';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
});
afterAll(() => bench.close());

async function done(path: string, body: object) {
  const { app, as } = bench;
  const started = await app.request('POST', `/api/v1/backups/${path}`, { ...as, body });
  expect(started.status, started.text).toBe(202);
  return untilEnded(app, started.headers.get('location')!, as);
}

async function importLines(lines: string) {
  const { app, as, shop } = bench;
  await writeFile(join(app.folder, 'storage', as.organizationId, 'shop.ndjson'), lines);
  const { projectId, destinationId: storageDestinationId } = shop;
  const metadata = { source: 'ndjson' };
  return done('import', { projectId, storageDestinationId, path: 'shop.ndjson', metadata });
}

const exported = async (id: string) => (await bench.app.request('GET', `/api/v1/backups/${id}/export`, bench.as)).text;

test('an export of ours becomes a backup that is exported in the same words, and brings every value back', async () => {
  const { firestore } = bench;
  const at = new Timestamp(1_700_000_000, 123_456_000);
  const values = { at, bytes: Buffer.from([0, 255]), nan: Number.NaN, zero: -0, far: -Infinity, of: [{ n: 1 }] };
  const more = { ref: firestore.doc('users/bob'), point: new GeoPoint(-1.5, 180), vector: FieldValue.vector([1, 2.5]) };
  await firestore.doc('users/ada').set({ ...values, ...more });
  await firestore.doc('users/ada/orders/1').set({ total: 1 });
  const before = (await firestore.doc('users/ada').get()).data();
  const lines = await exported(await bench.backUp());
  const imported = await importLines(lines);
  expect(imported, JSON.stringify(imported.error)).toMatchObject({
    status: 'completed',
    importedFrom: 'ndjson',
    documentCount: 2,
    warnings: [],
  });
  expect(await exported(imported.id)).toBe(lines);
  await firestore.recursiveDelete(firestore.collection('users'));
  expect(await done('restore', { backupId: imported.id })).toMatchObject({ status: 'completed', documentsRestored: 2 });
  expect((await firestore.doc('users/ada').get()).data()).toEqual(before);
});

test('a damaged line ends the import with its number, and no backup is there', async () => {
  await bench.startOver();
  const line = await exported(await bench.backUp());
  const damaged = line.replace('users/ada', 'users/bob').replace('integerValue', 'integerValuf');
  const failed = await importLines(line + damaged);
  expect(failed).toMatchObject({
    status: 'failed',
    documentCount: null,
    error: { code: 'INTEGRITY_ERROR', message: expect.stringMatching(/^Line 2 of shop.ndjson: users\/bob is refused/) },
  });
  const documents = await bench.app.request('GET', `/api/v1/backups/${failed.id}/documents`, bench.as);
  expect(documents.body.error.code).toBe('INVALID_STATE');
});
