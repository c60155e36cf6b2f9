// @module-tag long
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
});
afterAll(() => bench.close());
afterEach(() => bench.clear());

const remove = (id: string) => bench.app.request('DELETE', `/api/v1/backups/${id}`, bench.as);

test('a synthetic backup without anything to merge is refused', async () => {
  for (const dryRun of [false, true]) {
    const body = { projectId: bench.shop.projectId, type: 'synthetic', dryRun };
    const answer = await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body });
    expect([answer.status, answer.body.error.code]).toEqual([409, 'INVALID_STATE']);
  }
});

test('a chain is merged into a full backup without a single read; what shows the same moment may go then, and no other', async () => {
  const { firestore, sandbox, backUp } = bench;
  for (let n = 0; n < 30; n++) await firestore.doc(`users/${n}`).set({ n });
  const base = await backUp();
  await firestore.doc('users/1').set({ n: 'changed' });
  await firestore.doc('users/2').delete();
  const first = await backUp({ type: 'incremental' });
  await firestore.doc('users/new').set({ n: 'new' });
  const second = await backUp({ type: 'incremental' });
  expect(await bench.get(`/backups/${second}`)).toMatchObject({ type: 'incremental', parentId: first });
  const refused = await remove(base);
  expect([refused.status, refused.body.error.code]).toEqual([409, 'RESOURCE_IN_USE']);
  expect(refused.body.error.details.usedBy).toEqual([
    { type: 'backup', id: second },
    { type: 'backup', id: first },
  ]);

  sandbox.control.resetCounters();
  const body = { projectId: bench.shop.projectId, type: 'synthetic', dryRun: true };
  const dry = await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body });
  expect(dry.body.data).toMatchObject({
    documentCount: 30,
    estimatedReads: 0,
    collections: [{ path: 'users', documentCount: 30 }],
  });
  const merged = await bench.run({ type: 'synthetic' });
  expect(merged).toMatchObject({
    status: 'completed',
    type: 'synthetic',
    parentId: null,
    documentCount: 30,
    readsUsed: 0,
    error: null,
  });
  expect(merged.snapshots).toHaveLength(1);
  expect(merged.snapshotTime).toBe((await bench.get(`/backups/${second}`)).snapshotTime);
  expect(sandbox.control.counters().reads).toBe(0);
  const lines = async (id: string) => (await bench.app.request('GET', `/api/v1/backups/${id}/export`, bench.as)).text;
  expect(await lines(merged.id)).toBe(await lines(second));

  await bench.app.request('POST', `/api/v1/backups/${first}/hold`, bench.as);
  expect((await remove(base)).body.error.code).toBe('RESOURCE_IN_USE');
  expect((await remove(first)).body.error.code).toBe('INVALID_STATE');
  await bench.app.request('DELETE', `/api/v1/backups/${first}/hold`, bench.as);
  const before = await lines(merged.id);
  const middle = await remove(base);
  expect([middle.status, middle.body.error.details.usedBy]).toEqual([409, [{ type: 'backup', id: first }]]);
  expect(middle.body.error.message).toContain('whose moments are in no other one');
  expect((await remove(first)).body.message).toContain('2 backups');
  expect((await remove(base)).status).toBe(200);
  for (const id of [base, first, second])
    expect((await bench.app.request('GET', `/api/v1/backups/${id}`, bench.as)).status).toBe(404);
  expect(await lines(merged.id)).toBe(before);

  const next = await bench.run({ type: 'incremental' });
  expect(next).toMatchObject({ status: 'completed', type: 'incremental', parentId: merged.id });
});

test('one of collections that no backup covers says what to do, and does not call stored backups damaged', async () => {
  await bench.firestore.doc('users/ada').set({ n: 1 });
  await bench.backUp({ collections: ['users'] });
  const failed = await bench.run({ type: 'synthetic', collections: ['rooms'] });
  const refused = { code: 'INVALID_STATE', message: expect.stringContaining('take a full one') };
  expect(failed).toMatchObject({ status: 'failed', error: refused });
  const body = { projectId: bench.shop.projectId, type: 'synthetic', collections: ['rooms'], dryRun: true };
  const tried = await bench.app.request('POST', '/api/v1/backups', { ...bench.as, body });
  expect(tried.body.error, tried.text).toMatchObject(refused);
});
