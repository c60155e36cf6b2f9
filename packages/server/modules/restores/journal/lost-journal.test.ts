// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';
import { contentsOf } from '../../../testing/firestore-contents.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ JOB_ATTEMPTS: '1' });
});
afterAll(() => bench.close());

const sql = async (text: string, id: string) =>
  (await asOwner(bench.app.databaseUrl, (client) => client.query(text, [id]))).rowCount;
const start = async (path: string, body: object = {}) => {
  const started = await bench.app.request('POST', `/api/v1/backups/restore${path}`, { ...bench.as, body });
  expect(started.status, started.text).toBe(202);
  return started.body.data.id;
};
const end = (id: string) => untilEnded(bench.app, `/api/v1/backups/restore/${id}`, bench.as);
const changed = { 'users/a': { v: 2 } };

async function restore(): Promise<string> {
  bench.clear();
  await bench.firestore.doc('users/a').set({ v: 1 });
  const backupId = await bench.backUp();
  await bench.firestore.doc('users/a').set(changed['users/a']);
  const { id, status } = await end(await start('', { backupId }));
  expect(status).toBe('completed');
  return id;
}

test.each([false, true])(
  'an undo whose journal is lost says so and is not called completed; force: %s',
  async (force) => {
    const id = await restore();
    expect(await sql('delete from restore_journal where restore_id = $1', id)).toBeGreaterThan(0);
    expect(await end(await start(`/${id}/undo`, { force }))).toMatchObject({
      status: 'failed',
      error: { code: 'INTEGRITY_ERROR', message: 'A page of the journal of this restore is missing.' },
    });
  },
);

test('a journal does not expire while an undo reads it', async () => {
  const id = await restore();
  const gate = Promise.withResolvers<void>();
  bench.sandbox.control.addFault({ method: 'BatchWrite', until: gate.promise, times: 1 });
  const undo = await start(`/${id}/undo`);
  await expect.poll(() => bench.sandbox.control.faultHits()[0]).toBe(1);
  await bench.inDays(31, () => bench.app.tasks.runNow('expire journals'));
  const pages = await sql('select 1 from restore_journal where restore_id = $1', id);
  gate.resolve();
  expect(await end(undo)).toMatchObject({ status: 'completed', conflicts: 0 });
  expect(pages).toBeGreaterThan(0);
  expect(await contentsOf(bench.firestore)).toEqual(changed);
  await bench.inDays(31, () => bench.app.tasks.runNow('expire journals'));
  expect(await sql('select 1 from restore_journal where restore_id = $1', id)).toBe(0);
});
