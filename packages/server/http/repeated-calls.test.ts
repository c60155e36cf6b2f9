import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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

/** Calls, simulates a crash between the change and the storing of its answer, and calls again. */
async function callTwice(path: string, body?: object) {
  const headers = { 'idempotency-key': `try ${path} ${JSON.stringify(body)}` };
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

test('a backup, a manual run and a restore are not made twice when their process died before it answered', {
  tags: 'long',
}, async () => {
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

test('a service account, its rotation and a webhook are made once, and the answer says that the unseen secret is lost', async () => {
  const account = await callTwice('/organizations/current/service-account', { name: 'CI' });
  expect(account.second).toEqual({ ...account.first, apiKey: null });
  const rotated = await callTwice('/organizations/current/service-account/rotate', {});
  expect(rotated.second).toEqual({ ...rotated.first, apiKey: null });
  for (const { apiKey: token } of [account.first, rotated.first])
    expect((await bench.app.request('GET', '/api/v1/projects', { token })).status).toBe(200);
  const hook = await callTwice('/webhooks', { name: 'Hook', url: 'https://example.com/hook', events: ['*'] });
  expect(hook.second).toEqual({ ...hook.first, secret: null });
  expect(await countIn('webhooks')).toBe(1);
});

test('another body with the key of a call that died is a separate call', async () => {
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

test('an organization and an invitation are made once, and their retry is not refused', async () => {
  const before = await Promise.all(['organizations', 'invitations', 'invitation_mails'].map(countIn));
  await callTwice('/organizations', { name: 'Second', slug: 'second' });
  await callTwice('/organizations/current/invites', { email: 'bob@example.com' });
  const after = await Promise.all(['organizations', 'invitations', 'invitation_mails'].map(countIn));
  expect(after).toEqual(before.map((count) => count + 1));
});

test('an import, a drill, an undo and a task of a destination are made once', { tags: 'long' }, async () => {
  const { projectId, destinationId: storageDestinationId } = bench.shop;
  const tables = ['drills', 'storage_tasks'];
  const before = await Promise.all(tables.map(countIn));
  const folder = join(bench.app.folder, 'storage', bench.as.organizationId, 'v1');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'users.json'), '{"users":{"zoe":{"n":9}}}');
  const metadata = { source: 'json' };
  const imported = await callTwice('/backups/import', {
    projectId,
    storageDestinationId,
    path: 'v1/users.json',
    metadata,
  });
  await untilEnded(bench.app, `/api/v1/backups/${imported.first.id}`, bench.as);
  const backupId = await bench.backUp();
  await callTwice(`/backups/${backupId}/drill`);
  const restore = await bench.app.request('POST', '/api/v1/backups/restore', { ...bench.as, body: { backupId } });
  const restorePath = `/backups/restore/${restore.body.data.id}`;
  await untilEnded(bench.app, `/api/v1${restorePath}`, bench.as);
  const trial = await callTwice(`${restorePath}/undo`, { dryRun: true });
  await untilEnded(bench.app, `/api/v1/backups/restore/${trial.first.id}`, bench.as);
  const undo = await callTwice(`${restorePath}/undo`, {});
  await untilEnded(bench.app, `/api/v1/backups/restore/${undo.first.id}`, bench.as);
  await callTwice(`/storage-destinations/${storageDestinationId}/rescan`);
  expect(await Promise.all(tables.map(countIn))).toEqual(before.map((count) => count + 1));
});

test('a call that failed after its change is not carried out again by the next try', async () => {
  const sql = (text: string) => asOwner(bench.app.databaseUrl, (client) => client.query(text));
  const before = await countIn('backups');
  const headers = { 'idempotency-key': 'failed behind' };
  const create = () =>
    bench.app.request('POST', '/api/v1/backups', { ...bench.as, headers, body: { projectId: bench.shop.projectId } });
  await sql(`create function refuse_turn() returns trigger language plpgsql as $$
    begin raise exception 'no turn' using errcode = '53100'; end $$`);
  await sql('create trigger refuse_turn before update on backups for each row execute function refuse_turn()');
  const failed = await create();
  await sql('drop trigger refuse_turn on backups');
  expect(failed.status).toBeGreaterThanOrEqual(500);
  const made = await create();
  expect(made.status, made.text).toBe(202);
  expect(await countIn('backups')).toBe(before + 1);
  await untilEnded(bench.app, `/api/v1/backups/${made.body.data.id}`, bench.as);
});
