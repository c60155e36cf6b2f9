// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { protectProject, untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, ACCESS_TOKEN_TTL: '86400' });
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());

const minuteMs = 60_000;
const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
const runsOf = (scheduleId: string) => bench.get(`/schedules/${scheduleId}/runs`);

async function create(body: object) {
  const created = await call('POST', '/schedules', { projectId: bench.shop.projectId, name: 'Clocks', ...body });
  expect(created.status, created.text).toBe(201);
  return created.body.data;
}

test('a due time that comes twice because clocks differ runs once, and keeps no other schedule from running', async () => {
  const other = await protectProject(bench.app, { sourceProjectId: 'other', firestore: bench.shop.firestore });
  const asOther = { token: other.owner.token, organizationId: other.organizationId };
  const body = { projectId: other.projectId, name: 'Minutely', cron: '* * * * *' };
  const made = await bench.app.request('POST', '/api/v1/schedules', { ...asOther, body });
  const schedule = await create({ cron: '0 * * * *' });
  bench.app.clock.advance(Date.parse(schedule.nextRunAt) - bench.app.clock.now().getTime() + 1000);
  await bench.app.tasks.runNow('schedules');
  bench.app.clock.advance(-5000);
  for (const enabled of [false, true]) await call('PATCH', `/schedules/${schedule.id}`, { enabled });
  expect((await bench.get(`/schedules/${schedule.id}`)).nextRunAt).toBe(schedule.nextRunAt);
  const [{ backupId }] = await runsOf(schedule.id);
  await untilEnded(bench.app, `/api/v1/backups/${backupId}`, bench.as);
  bench.app.clock.advance(2 * minuteMs);
  await bench.app.tasks.runNow('schedules');
  expect(await runsOf(schedule.id)).toMatchObject([{ dueAt: schedule.nextRunAt, status: 'completed', backupId }]);
  const runs = await bench.app.request('GET', `/api/v1/schedules/${made.body.data.id}/runs`, asOther);
  expect(Date.parse(runs.body.data[0].dueAt)).toBeGreaterThan(Date.parse(schedule.nextRunAt));
  await bench.app.request('DELETE', `/api/v1/schedules/${made.body.data.id}`, asOther);
  await call('DELETE', `/schedules/${schedule.id}`);
});

test('a due time that a clock days ahead has recorded as missed runs when it comes', async () => {
  const hour = (bench.app.clock.now().getUTCHours() + 2) % 24;
  const schedule = await create({ cron: `0 ${hour} * * *`, catchUp: 'skip' });
  const dayMs = 24 * 60 * minuteMs;
  bench.app.clock.advance(8.5 * dayMs);
  await bench.app.tasks.runNow('schedules');
  bench.app.clock.advance(-8.5 * dayMs);
  expect((await runsOf(schedule.id)).length).toBeGreaterThan(5);
  await bench.app.tasks.runNow('due times far away');
  expect((await bench.get(`/schedules/${schedule.id}`)).nextRunAt).toBe(schedule.nextRunAt);
  bench.app.clock.advance(Date.parse(schedule.nextRunAt) - bench.app.clock.now().getTime() + 1000);
  await bench.app.tasks.runNow('schedules');
  const runs: { dueAt: string; status: string; backupId: string }[] = await runsOf(schedule.id);
  const run = runs.find(({ dueAt }) => dueAt === schedule.nextRunAt);
  expect(run).toMatchObject({ status: 'triggered' });
  await untilEnded(bench.app, `/api/v1/backups/${run?.backupId}`, bench.as);
  await call('DELETE', `/schedules/${schedule.id}`);
});
