import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty });
  await bench.startOver();
});
afterAll(() => bench.close());

async function post(path: string, body: object) {
  const answer = await bench.app.request('POST', `/api/v1${path}`, { ...bench.as, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

const changeRow = (id: string, change: string) =>
  asOwner(bench.app.databaseUrl, (client) => client.query(`update backups set ${change} where id = $1`, [id]));

test('a backup whose time is over because its organization was deleted meanwhile says so', async () => {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  bench.sandbox.control.addFault({ method: 'RunQuery', until });
  const { id } = await post('/backups', { projectId: bench.shop.projectId });
  await expect.poll(async () => (await bench.get(`/backups/${id}`)).status).toBe('running');
  const { name } = await bench.get('/organizations/current');
  await post('/organizations/current/delete', { confirmName: name });
  await changeRow(id, `deadline_at = now() - interval '1 day'`);
  await post(`/organizations/${bench.as.organizationId}/recover`, {});
  await bench.app.tasks.runNow('requeue lost backups');
  const ended = await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as);
  release();
  expect(ended).toMatchObject({
    status: 'failed',
    error: { code: 'BACKUP_TIMEOUT', message: expect.stringContaining('The organization was deleted while') },
  });
});

test('a backup that continued in time and is late for another reason does not say so', async () => {
  bench.sandbox.control.clearFaults();
  const { name } = await bench.get('/organizations/current');
  await post('/organizations/current/delete', { confirmName: name });
  await post(`/organizations/${bench.as.organizationId}/recover`, {});
  const id = await bench.backUp();
  await changeRow(
    id,
    `status = 'running', completed_at = null, deadline_at = now() - interval '1 hour', admitted_at = now()`,
  );
  await bench.app.tasks.runNow('requeue lost backups');
  expect(await bench.get(`/backups/${id}`)).toMatchObject({
    status: 'failed',
    error: { code: 'BACKUP_TIMEOUT', message: expect.stringContaining('longer than the project allows') },
  });
});
