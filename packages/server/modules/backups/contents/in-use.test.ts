// @module-tag long
import { fillFast } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** More than all buffers between the service and a reader who stops hold. */
const documents = 30_000;

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  const database = bench.sandbox.control.database({ project: 'shop', database: '(default)' });
  fillFast(database, { collection: 'items', documents });
});
afterAll(() => bench.close());

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });

/** An export of which the first piece was read, and how to read the rest. */
async function beginExport(id: string) {
  const headers = { authorization: `Bearer ${bench.as.token}`, 'x-organization-id': bench.as.organizationId };
  const response = await fetch(`${bench.app.address}/api/v1/backups/${id}/export`, { headers });
  expect(response.status).toBe(200);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? '';
  return async () => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value;
    return text.trimEnd().split('\n').length;
  };
}

async function applyRetention(): Promise<void> {
  await asOwner(bench.app.databaseUrl, (client) => client.query('update retention_checks set due_at = now()'));
  await bench.app.tasks.runNow('retention');
}

const isThere = async (id: string) => (await call('GET', `/backups/${id}`)).status === 200;

test('a backup that is being exported is not deleted, does not expire and is not moved away', async () => {
  const old = await bench.backUp({ retention: 1 });
  await bench.backUp();
  const readOn = await beginExport(old);
  const refused = await call('DELETE', `/backups/${old}`);
  expect([refused.status, refused.body.error?.code], refused.text).toEqual([409, 'RESOURCE_IN_USE']);
  expect(refused.body.error.details.usedBy).toEqual([{ type: 'reader', id: old }]);
  const withProject = await call('DELETE', `/projects/${bench.shop.projectId}?deleteBackups=true`);
  expect([withProject.status, withProject.body.error?.code], withProject.text).toEqual([409, 'RESOURCE_IN_USE']);
  expect(withProject.body.error.details.usedBy).toEqual([{ type: 'reader', id: old }]);
  await bench.inDays(3, applyRetention);
  expect(await isThere(old)).toBe(true);

  const second = await call('POST', '/storage-destinations', { name: 'Second', type: 'local', path: 'second' });
  const home = `/storage-destinations/${bench.shop.destinationId}`;
  const moved = await call('POST', `${home}/migrate`, { toStorageDestinationId: second.body.data.id });
  const task = moved.headers.get('location') as string;
  await expect.poll(async () => (await call('GET', task.replace('/api/v1', ''))).body.data.progress.percent).toBe(95);
  const whileMoved = await call('DELETE', `/backups/${old}`);
  expect(whileMoved.body.error.details.usedBy.map(({ type }: { type: string }) => type)).toContain('storage_task');

  expect(await readOn()).toBe(documents);
  expect(await untilEnded(bench.app, task, bench.as)).toMatchObject({ status: 'completed', result: { removed: 2 } });
  await bench.inDays(3, applyRetention);
  expect(await isThere(old)).toBe(false);
});

test('backups that a restore needs stay until it has ended: its source, its picked documents, its safety backup', async () => {
  await bench.startOver();
  const [source, picked] = [await bench.backUp(), await bench.backUp()];
  const gate = Promise.withResolvers<void>();
  bench.sandbox.control.addFault({ method: 'BatchWrite', until: gate.promise });
  const started = await call('POST', '/backups/restore', { backupId: source });
  const path = `/backups/restore/${started.body.data.id}`;
  const items = [{ backupId: picked, path: 'users/ada' }];
  const basket = await call('POST', '/backups/restore', { items });
  await expect.poll(() => bench.sandbox.control.faultHits()).toEqual([1]);
  const { safetyBackupId } = await bench.get(path);
  for (const id of [source, picked, safetyBackupId]) {
    const answer = await call('DELETE', `/backups/${id}`);
    expect([answer.status, answer.body.error?.code], answer.text).toEqual([409, 'RESOURCE_IN_USE']);
  }
  gate.resolve();
  for (const { body } of [started, basket])
    expect(await untilEnded(bench.app, `/api/v1/backups/restore/${body.data.id}`, bench.as)).toMatchObject({
      status: 'completed',
    });
  bench.sandbox.control.clearFaults();
  for (const id of [source, picked, safetyBackupId]) expect((await call('DELETE', `/backups/${id}`)).status).toBe(200);
});
