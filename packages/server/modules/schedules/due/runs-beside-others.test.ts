// @module-tag long
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.startOver();
});
afterAll(() => bench.close());

async function call(method: string, path: string, body?: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

test('a run is due while retention merges backups of its schedule: it is not skipped, it waits for its turn', async () => {
  const { projectId } = bench.shop;
  const standsFor = await bench.backUp();
  const { promise: until, resolve: letGo } = Promise.withResolvers<void>();
  bench.sandbox.control.addFault({ method: 'RunQuery', until });
  onTestFinished(() => {
    letGo();
    bench.sandbox.control.clearFaults();
  });
  const busy = await call('POST', '/backups', { projectId });
  const schedule = await call('POST', '/schedules', { projectId, name: 'Often', cron: '*/5 * * * *' });
  const merge = await call('POST', `/schedules/${schedule.id}/run`);
  // As retention asks for a merge. It waits here, because the project has its one backup under way.
  await asOwner(bench.app.databaseUrl, async (client) => {
    await client.query(`update backups set type = 'synthetic', stands_for = $2 where id = $1`, [merge.id, standsFor]);
    await client.query('delete from schedule_runs where backup_id = $1', [merge.id]);
  });
  bench.app.clock.advance(Date.parse(schedule.nextRunAt) - bench.app.clock.now().getTime() + 1000);
  await bench.app.tasks.runNow('schedules');
  await expect.poll(() => bench.get(`/schedules/${schedule.id}/runs`)).toHaveLength(1);
  const [due] = await bench.get(`/schedules/${schedule.id}/runs`);
  expect(due).toMatchObject({ dueAt: schedule.nextRunAt, status: 'triggered', reason: null });
  letGo();
  bench.sandbox.control.clearFaults();
  for (const id of [busy.id, merge.id, due.backupId])
    expect(await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as)).toMatchObject({ status: 'completed' });
  await call('DELETE', `/schedules/${schedule.id}`);
});

test('a scheduled backup into two records of one place has one copy there, as one by hand', async () => {
  const path = `storage/../storage/${bench.as.organizationId}`;
  const twin = await call('POST', '/storage-destinations', { name: 'Twin', type: 'local', path });
  expect(twin.status).toBe('connected');
  const storageDestinationIds = [bench.shop.destinationId, twin.id];
  const body = { projectId: bench.shop.projectId, name: 'Twice', cron: '0 * * * *', storageDestinationIds };
  const schedule = await call('POST', '/schedules', { ...body, type: 'incremental' });
  const byHand = await call('POST', `/schedules/${schedule.id}/run`);
  await untilEnded(bench.app, `/api/v1/backups/${byHand.id}`, bench.as);
  bench.app.clock.advance(Date.parse(schedule.nextRunAt) - bench.app.clock.now().getTime() + 1000);
  await bench.app.tasks.runNow('schedules');
  await expect.poll(() => bench.get(`/schedules/${schedule.id}/runs`)).toHaveLength(2);
  const [{ backupId }] = await bench.get(`/schedules/${schedule.id}/runs`);
  const scheduled = await untilEnded(bench.app, `/api/v1/backups/${backupId}`, bench.as);
  expect(scheduled).toMatchObject({ type: 'incremental', parentId: byHand.id, warnings: [] });
  expect(scheduled.copies).toMatchObject([{ storageDestinationId: bench.shop.destinationId }]);
});

test('a full run that fails is made up for once, also by one that is merged from captured changes', async () => {
  const body = { projectId: bench.shop.projectId, name: 'Increments', cron: '0 2 * * *', type: 'incremental' };
  const schedule = await call('POST', '/schedules', { ...body, enabled: false });
  const run = async () => {
    const { id } = await call('POST', `/schedules/${schedule.id}/run`);
    return untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as);
  };
  const become = (id: string, status: string, type: string) =>
    asOwner(bench.app.databaseUrl, (client) =>
      client.query('update backups set status = $2, type = $3 where id = $1', [id, status, type]),
    );
  await become((await run()).id, 'failed', 'full');
  const madeUpFor = await run();
  expect(madeUpFor.type).toBe('full');
  // As the record of a full run says that was made of captured changes.
  await become(madeUpFor.id, 'completed', 'synthetic');
  expect(await run()).toMatchObject({ type: 'incremental', parentId: madeUpFor.id });
});

test('a run by hand without any storage is refused with what to set, as its call names none', async () => {
  const setDefault = (defaultStorageId: string | null) =>
    call('PUT', '/organizations/current', { settings: { defaultStorageId } });
  const body = { projectId: bench.shop.projectId, name: 'Nowhere', cron: '0 2 * * *' };
  const { id } = await call('POST', '/schedules', body);
  await setDefault(null);
  onTestFinished(() => setDefault(bench.shop.destinationId));
  const refused = await bench.app.request('POST', `/api/v1/schedules/${id}/run`, bench.as);
  expect([refused.status, refused.body.error?.details], refused.text).toEqual([
    400,
    { field: 'storageDestinationId', reason: expect.stringContaining('set it in one of them') },
  ]);
});
