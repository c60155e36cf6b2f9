// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, ACCESS_TOKEN_TTL: '86400' });
});
afterAll(() => bench.close());

const patience = { timeout: 60_000, interval: 200 };
const call = async (method: string, path: string, body?: object) => {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
};
const sql = async (text: string) => (await asOwner(bench.app.databaseUrl, (client) => client.query(text))).rows;
const reasons = async () => {
  const [project] = (await call('GET', '/overview')).projects;
  return project.protection.reasons.map(({ code }: { code: string }) => code);
};
const longAgo =
  "update backups set completed_at = completed_at - interval '1 hour' where trigger = 'pitr' and status = 'failed'";
async function metric(name: string): Promise<number | undefined> {
  const { text } = await bench.app.request('GET', '/metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${name}{`));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

test('captured time without a base is an error everywhere one looks, until there is a base', async () => {
  const { projectId } = bench.shop;
  const path = `/projects/${projectId}`;
  for (let n = 0; n < 30; n++) await bench.firestore.doc(`users/${n}`).set({ n });
  await call('POST', '/schedules', { projectId, name: 'Nightly', cron: '0 2 * * *' });
  await bench.backUp();
  const { settings } = await call('GET', path);
  await call('PATCH', path, { settings: { ...settings, maxReadsPerBackup: 10 } });
  await call('POST', `${path}/pitr/enable`, {});
  const shown = () => call('GET', `${path}/pitr`);
  await expect.poll(async () => (await shown()).status, patience).toBe('error');
  expect(await shown()).toMatchObject({
    coveredTo: null,
    error: {
      code: 'READ_BUDGET_EXCEEDED',
      message: expect.stringContaining('The base of captured changes could not be made'),
      advice: expect.stringContaining('maxReadsPerBackup'),
    },
  });
  expect(await reasons()).toContain('capture_stopped');
  expect(await sql("select 1 from outbox_events where type = 'backup.failed'")).toHaveLength(1);
  await bench.app.tasks.runNow('pitr bases');
  expect(await sql("select words->>'title' as title, ended_at from troubles where kind = 'pitr.stopped'")).toEqual([
    { title: 'Captured moments of Shop cannot be reached', ended_at: null },
  ]);
  bench.app.clock.advance(11 * 60_000);
  expect(await metric('holdfast_pitr_covered_through_timestamp_seconds')).toBeUndefined();
  expect(await metric('holdfast_pitr_lag_seconds')).toBeGreaterThan(600);
  bench.app.clock.advance(-11 * 60_000);

  await call('PATCH', path, { settings: { ...settings, maxReadsPerBackup: null } });
  // While the clock was ahead the upkeep may have tried, and failed, once more.
  const coveredTo = async () => {
    await sql(longAgo);
    await bench.app.tasks.runNow('pitr bases');
    return (await shown()).coveredTo;
  };
  await expect.poll(coveredTo, patience).not.toBeNull();
  await expect.poll(async () => (await shown()).error, patience).toBeNull();
  expect(await reasons()).not.toContain('capture_stopped');
  expect(await metric('holdfast_pitr_covered_through_timestamp_seconds')).toBeGreaterThan(0);
  await bench.app.tasks.runNow('pitr bases');
  expect(await sql("select 1 from troubles where kind = 'pitr.stopped' and ended_at is null")).toEqual([]);
});

test('a base that failed while the clock ran ahead is tried again as soon as any other, and once', async () => {
  const path = `/projects/${bench.shop.projectId}`;
  const { settings } = await call('GET', path);
  await call('POST', `${path}/pitr/disable`, { deleteLog: true });
  await expect.poll(async () => (await call('GET', `${path}/pitr`)).status, patience).toBe('stopped');
  await call('PATCH', path, { settings: { ...settings, maxReadsPerBackup: 10 } });
  await expect
    .poll(
      async () => (await bench.app.request('POST', `/api/v1${path}/pitr/enable`, { ...bench.as, body: {} })).status,
      patience,
    )
    .toBe(200);
  const bases = (status: string) => sql(`select 1 from backups where trigger = 'pitr' and status = '${status}'`);
  await expect.poll(async () => (await call('GET', `${path}/pitr`)).status, patience).toBe('error');
  const failed = (await bases('failed')).length;
  const aheadMs = 20 * 3_600_000;
  bench.app.clock.advance(aheadMs);
  await bench.app.tasks.runNow('pitr bases');
  await expect.poll(async () => (await bases('failed')).length, patience).toBeGreaterThan(failed);
  bench.app.clock.advance(-aheadMs);
  const failedAhead = (await bases('failed')).length;

  await call('PATCH', path, { settings: { ...settings, maxReadsPerBackup: null } });
  await sql(`${longAgo} and completed_at < now()`);
  const made = (await bases('completed')).length;
  const coveredTo = async () => {
    await bench.app.tasks.runNow('pitr bases');
    return (await call('GET', `${path}/pitr`)).coveredTo;
  };
  await expect.poll(coveredTo, patience).not.toBeNull();
  expect(await bases('completed')).toHaveLength(made + 1);
  expect(await bases('failed')).toHaveLength(failedAhead);
});
