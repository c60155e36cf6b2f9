import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../testing/backup-bench.ts';
import { asOwner } from '../testing/people.ts';
import { untilEnded } from '../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench();
  await bench.firestore.doc('users/ada').set({ n: 1 });
});
afterAll(() => bench.close());

const countIn = async (table: string) =>
  (await asOwner(bench.app.databaseUrl, (client) => client.query(`select count(*)::int as n from ${table}`))).rows[0].n;

/** Calls, loses the process between the change and the keeping of its answer, and calls again. */
async function callTwice(path: string, body: object) {
  const headers = { 'idempotency-key': `try ${path}` };
  const call = () => bench.app.request('POST', `/api/v1${path}`, { ...bench.as, headers, body });
  const first = await call();
  expect(first.status, first.text).toBeLessThan(300);
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(
      `update idempotency_keys set status = null, headers = null, body = null, locked_until = created_at where key = $1`,
      [headers['idempotency-key']],
    ),
  );
  const second = await call();
  expect([second.status, second.headers.get('location')]).toEqual([first.status, first.headers.get('location')]);
  expect(second.body.data.id).toBe(first.body.data.id);
  expect((await call()).text).toBe(second.text);
  return { first: first.body.data, second: second.body.data };
}

test('a backup, a run by hand and a restore whose process died before it answered are not made twice', async () => {
  const { projectId } = bench.shop;
  const { first } = await callTwice('/backups', { projectId });
  await untilEnded(bench.app, `/api/v1/backups/${first.id}`, bench.as);
  const schedule = await bench.app.request('POST', '/api/v1/schedules', {
    ...bench.as,
    body: { projectId, name: 'Nightly', cron: '0 2 * * *' },
  });
  const run = await callTwice(`/schedules/${schedule.body.data.id}/run`, {});
  await untilEnded(bench.app, `/api/v1/backups/${run.first.id}`, bench.as);
  expect([await countIn('backups'), await countIn('schedule_runs')]).toEqual([2, 1]);
  const options = { safetyBackup: false };
  const restored = await callTwice('/backups/restore', { backupId: first.id, options });
  await untilEnded(bench.app, `/api/v1/backups/restore/${restored.first.id}`, bench.as);
  expect(await countIn('restores')).toBe(1);
});

test('a schedule, a project and a destination are made once too', async () => {
  const before = await Promise.all(['schedules', 'projects', 'storage_destinations'].map(countIn));
  const { connection } = await bench.get(`/projects/${bench.shop.projectId}`);
  await callTwice('/schedules', { projectId: bench.shop.projectId, name: 'Weekly', cron: '0 2 * * 1' });
  await callTwice('/projects', {
    ...{ name: 'Other', sourceProjectId: 'other' },
    connection: { type: 'emulator', host: connection.host },
  });
  await callTwice('/storage-destinations', { name: 'Second', type: 'local', path: 'second' });
  const after = await Promise.all(['schedules', 'projects', 'storage_destinations'].map(countIn));
  expect(after).toEqual(before.map((count) => count + 1));
});

test('a service account and a webhook are made once, and the secret that nobody has seen is told as lost', async () => {
  const account = await callTwice('/organizations/current/service-account', { name: 'CI' });
  expect(account.second).toEqual({ ...account.first, apiKey: null });
  const hook = await callTwice('/webhooks', { name: 'Hook', url: 'https://example.com/hook', events: ['*'] });
  expect(hook.second).toEqual({ ...hook.first, secret: null });
  expect(await countIn('webhooks')).toBe(1);
});

test('another body with the key of a call that died is a call of its own', async () => {
  const headers = { 'idempotency-key': 'changed' };
  const create = (name: string) =>
    bench.app.request('POST', '/api/v1/webhooks', {
      ...{ ...bench.as, headers },
      body: { name, url: 'https://example.com/hook', events: ['*'] },
    });
  const first = await create('One');
  await asOwner(bench.app.databaseUrl, (client) =>
    client.query(`update idempotency_keys set status = null, locked_until = created_at where key = 'changed'`),
  );
  const second = await create('Two');
  expect([second.body.data.name, second.body.data.id === first.body.data.id]).toEqual(['Two', false]);
});
