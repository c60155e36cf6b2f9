// @module-tag long
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { asOwner } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
});
afterAll(() => bench.close());
beforeEach(async () => {
  bench.clear();
  for (let n = 0; n < 50; n++) await bench.firestore.doc(`users/${n}`).set({ n });
});
afterEach(() => bench.sandbox.control.clearFaults());

const sql = <Row extends pg.QueryResultRow>(text: string, values: unknown[]) =>
  asOwner(bench.app.databaseUrl, async (client) => (await client.query<Row>(text, values)).rows);

async function post(path: string, body?: object) {
  const answer = await bench.app.request('POST', `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

const ended = (path: string) => untilEnded(bench.app, `/api/v1${path}`, bench.as);

test('a restore that is cancelled and resumed at once runs, also when that happens repeatedly', async () => {
  const backupId = await bench.backUp();
  bench.clear();
  bench.sandbox.control.addFault({ method: 'BatchWrite', latencyMs: 400 });
  const { id } = await post('/backups/restore', { backupId, options: { safetyBackup: false } });
  for (let round = 0; round < 6; round++) {
    const { status } = await post(`/backups/restore/${id}/cancel`);
    expect(status).toBe('cancelled');
    await post(`/backups/restore/${id}/resume`);
  }
  bench.sandbox.control.clearFaults();
  expect(await ended(`/backups/restore/${id}`)).toMatchObject({ status: 'completed', error: null });
  expect((await bench.firestore.collection('users').get()).size).toBe(50);
});

/**
 * Makes a restore whose record says that it runs although no worker has it, and lets `requeueLostWork` find it. The
 * previous claim is released first: its heartbeats may continue for a moment after its end.
 */
async function takeUp(changes: string): Promise<string> {
  const backupId = await bench.backUp();
  const { id } = await post('/backups/restore', { backupId, options: { safetyBackup: false } });
  await ended(`/backups/restore/${id}`);
  await bench.firestore.doc('users/7').set({ n: 'edited since' });
  await sql(
    `update restores set status = 'running', completed_at = null, checkpoint = '{"stage": "puts"}', epoch = epoch + 1,
      ${changes} where id = $1`,
    [id],
  );
  await bench.app.tasks.runNow('requeue lost restores');
  return id;
}

test('a restore whose worker has just died goes on, however far the clocks of two workers differ', async () => {
  const id = await takeUp(`updated_at = updated_at - interval '2 hours'`);
  expect(await ended(`/backups/restore/${id}`)).toMatchObject({ status: 'completed' });
});

test('a restore of an older state of the database of the service does not go on by itself over newer changes', async () => {
  const id = await takeUp(`held_at = held_at - interval '2 hours', updated_at = updated_at + interval '1 day'`);
  const stopped = await ended(`/backups/restore/${id}`);
  expect(stopped).toMatchObject({ status: 'cancelled', error: { code: 'CANCELLED' } });
  expect(stopped.error.message).toContain('does not go on by itself');
  expect((await bench.firestore.doc('users/7').get()).data()).toEqual({ n: 'edited since' });
  await post(`/backups/restore/${id}/resume`);
  expect(await ended(`/backups/restore/${id}`)).toMatchObject({ status: 'completed' });
});

test('a restore that is cancelled after its worker died ends at once, and its event is sent', async () => {
  const backupId = await bench.backUp();
  const { id } = await post('/backups/restore', { backupId, options: { safetyBackup: false } });
  await ended(`/backups/restore/${id}`);
  await sql(
    `update restores set status = 'running', completed_at = null, waiting_for = 'Waiting for the database.',
      held_at = held_at - interval '1 minute' where id = $1`,
    [id],
  );
  const cancelled = await post(`/backups/restore/${id}/cancel`);
  expect(cancelled).toMatchObject({ status: 'cancelled', progress: { waitingFor: null } });
  const told = await sql(
    `select type, payload->'data'->'restore'->>'status' as status from outbox_events
      where payload->'data'->'restore'->>'id' = $1 order by position`,
    [id],
  );
  expect(told.at(-1)).toEqual({ type: 'restore.failed', status: 'cancelled' });
});

test('a job of an earlier run does nothing after its record was admitted again', async () => {
  const backupId = await bench.backUp();
  const { id } = await post('/backups/restore', { backupId, options: { safetyBackup: false } });
  await ended(`/backups/restore/${id}`);
  const [before] = await sql<{ epoch: number }>('select epoch from restores where id = $1', [id]);
  await sql(`update restores set status = 'pending', admitted_at = now() + interval '1 hour' where id = $1`, [id]);
  const { platform } = bench.app;
  const { runRestoreJob } = await import('../restores/jobs.ts');
  const { organizationId } = bench.as;
  await platform.database.system((transaction) =>
    platform.queue.enqueue(transaction, runRestoreJob, { organizationId, restoreId: id, admission: 1 }, { key: 'old' }),
  );
  expect(await ended(`/backups/restore/${id}`)).toMatchObject({ status: 'completed' });
  const [after] = await sql<{ epoch: number }>('select epoch from restores where id = $1', [id]);
  expect(after?.epoch).toBe((before?.epoch ?? 0) + 1);
});

/** Simulates that the job of an admitted record was lost before a worker took it. */
describe('an admitted record without a job runs all the same', () => {
  test('a backup', async () => {
    bench.sandbox.control.addFault({ method: 'RunQuery', latencyMs: 500 });
    const first = await post('/backups', { projectId: bench.shop.projectId });
    const second = await post('/backups', { projectId: bench.shop.projectId });
    await sql(`update backups set admitted_at = now() where id = $1 and status = 'pending'`, [second.id]);
    expect(await ended(`/backups/${first.id}`)).toMatchObject({ status: 'completed' });
    expect(await ended(`/backups/${second.id}`)).toMatchObject({ status: 'completed' });
  });

  test('a restore, a drill and a storage task', async () => {
    const backupId = await bench.backUp();
    const restore = await post('/backups/restore', { backupId, options: { safetyBackup: false } });
    await ended(`/backups/restore/${restore.id}`);
    const drill = await post(`/backups/${backupId}/drill`);
    const drillOf = async () => (await bench.get(`/backups/${backupId}/drills`))[0];
    await expect.poll(async () => (await drillOf()).status).toBe('completed');
    const task = await post(`/storage-destinations/${bench.shop.destinationId}/rescan`);
    const taskPath = `/storage-destinations/${bench.shop.destinationId}/tasks/${task.id}`;
    await ended(taskPath);
    for (const [table, id] of Object.entries({ restores: restore.id, drills: drill.id, storage_tasks: task.id }))
      await sql(
        `update ${table} set status = 'pending', completed_at = null, admitted_at = now() + interval '1 second' where id = $1`,
        [id],
      );
    expect(await ended(`/backups/restore/${restore.id}`)).toMatchObject({ status: 'completed' });
    expect(await ended(taskPath)).toMatchObject({ status: 'completed' });
    await expect.poll(async () => (await drillOf()).status).toBe('completed');
  });

  test('a verification', async () => {
    const backupId = await bench.backUp();
    await sql(
      `update backups set verification_admitted_at = now(),
              verification = '{"status":"running","segments":0,"documents":0,"errors":[]}' where id = $1`,
      [backupId],
    );
    await expect.poll(async () => (await bench.get(`/backups/${backupId}`)).verification.status).toBe('passed');
  });
});
