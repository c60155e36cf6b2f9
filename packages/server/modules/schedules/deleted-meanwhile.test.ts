// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs } from '../../platform/durations.ts';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty });
  await bench.startOver();
});
afterAll(() => bench.close());

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });

/** The source does not answer before it is let go. */
function holdSource(): () => void {
  const { promise: until, resolve } = Promise.withResolvers<void>();
  bench.sandbox.control.addFault({ method: 'RunQuery', until });
  return () => {
    resolve();
    bench.sandbox.control.clearFaults();
  };
}

async function begin(name: string) {
  const { projectId } = bench.shop;
  const made = await call('POST', '/schedules', { name, projectId, cron: '0 3 * * *', retention: 5 });
  const run = await call('POST', `/schedules/${made.body.data.id}/run`, {});
  expect(run.status, run.text).toBe(202);
  return { scheduleId: made.body.data.id, backupId: run.body.data.id };
}

test('backups that are made or wait while their schedule is deleted keep the term it had', async () => {
  const letGo = holdSource();
  const begun = [await begin('under way'), await begin('waiting')];
  const statuses = async () =>
    Promise.all(begun.map(async (one) => (await bench.get(`/backups/${one.backupId}`)).status));
  await expect.poll(statuses).toEqual(['running', 'pending']);
  for (const { scheduleId } of begun) expect((await call('DELETE', `/schedules/${scheduleId}`)).status).toBe(200);
  letGo();
  for (const { backupId } of begun) {
    const ended = await untilEnded(bench.app, `/api/v1/backups/${backupId}`, bench.as);
    expect(ended, JSON.stringify(ended.error)).toMatchObject({ status: 'completed' });
    expect(Date.parse(ended.expiresAt) - Date.parse(ended.completedAt)).toBe(5 * dayMs);
  }
});

test('an unfinished backup under legal hold keeps its schedule and all its backups from being deleted', async () => {
  const letGo = holdSource();
  const { scheduleId, backupId } = await begin('held');
  expect((await call('POST', `/backups/${backupId}/hold`)).status).toBe(200);
  const refused = await call('DELETE', `/schedules/${scheduleId}?deleteBackups=true`);
  expect([refused.status, refused.body.error?.code], refused.text).toEqual([409, 'INVALID_STATE']);
  letGo();
  const ended = await untilEnded(bench.app, `/api/v1/backups/${backupId}`, bench.as);
  expect(ended).toMatchObject({ status: 'completed', legalHold: true });
  expect((await call('GET', `/schedules/${scheduleId}`)).status).toBe(200);
});
