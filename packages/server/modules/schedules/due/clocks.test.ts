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

interface Due {
  id: string;
  nextRunAt: string;
}

/** Moves the clock to the due time and waits until a scheduler has taken it: it may be another one than this. */
async function runWhenDue({ id, nextRunAt }: Due): Promise<void> {
  bench.app.clock.advance(Date.parse(nextRunAt) - bench.app.clock.now().getTime() + 1000);
  const isTaken = async () => {
    await bench.app.tasks.runNow('schedules');
    return (await runsOf(id)).some(
      (run: { dueAt: string; backupId: string | null }) => run.dueAt === nextRunAt && run.backupId,
    );
  };
  await expect.poll(isTaken).toBe(true);
}

test('a due time that comes twice because clocks differ runs once, and keeps no other schedule from running', async () => {
  const other = await protectProject(bench.app, { sourceProjectId: 'other', firestore: bench.shop.firestore });
  const asOther = { token: other.owner.token, organizationId: other.organizationId };
  const body = { projectId: other.projectId, name: 'Minutely', cron: '* * * * *' };
  const made = await bench.app.request('POST', '/api/v1/schedules', { ...asOther, body });
  const schedule = await create({ cron: '0 * * * *' });
  await runWhenDue(schedule);
  const [{ backupId }] = await runsOf(schedule.id);
  await untilEnded(bench.app, `/api/v1/backups/${backupId}`, bench.as);
  // Far enough that the due time is still to come when a slow machine sees the change.
  bench.app.clock.advance(-10 * minuteMs);
  for (const enabled of [false, true]) await call('PATCH', `/schedules/${schedule.id}`, { enabled });
  expect((await bench.get(`/schedules/${schedule.id}`)).nextRunAt).toBe(schedule.nextRunAt);
  bench.app.clock.advance(12 * minuteMs);
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
  const runThen = async (): Promise<{ status: string; backupId: string } | undefined> =>
    (await runsOf(schedule.id)).find(({ dueAt }: { dueAt: string }) => dueAt === schedule.nextRunAt);
  await runWhenDue(schedule);
  const run = await runThen();
  await untilEnded(bench.app, `/api/v1/backups/${run?.backupId}`, bench.as);
  expect(await runThen()).toMatchObject({ status: 'completed' });
  await call('DELETE', `/schedules/${schedule.id}`);
});
