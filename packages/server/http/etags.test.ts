import { type Operation, servedOperations } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../testing/backup-bench.ts';
import { untilEnded } from '../testing/protected-project.ts';
import { sampleBody } from '../testing/sample-input.ts';
import { createOneOfEverything, resourcesOf } from '../testing/tenant-resources.ts';
import type { TestApp } from '../testing/test-app.ts';

let bench: BackupBench;
let app: TestApp;
let as: { token: string; organizationId: string };
let ids: Record<string, string>;

/** Makes one of everything that has a version. */
beforeAll(async () => {
  bench = await startBackupBench();
  ({ app, as } = bench);
  const { owner, organizationId, projectId, destinationId } = bench.shop;
  const organization = { id: organizationId, owner };
  await createOneOfEverything(app, organization);
  await bench.firestore.doc('users/ada').set({ name: 'Ada' });
  const backupId = await bench.backUp();
  const schedule = { projectId, name: 'Nightly', cron: '0 2 * * *', enabled: false };
  await app.request('POST', '/api/v1/schedules', { ...as, body: schedule });
  await ended('/api/v1/backups/restore', { backupId, options: { dryRun: true } });
  await ended(`/api/v1/storage-destinations/${destinationId}/rescan`);
  const found = await resourcesOf(app, organization);
  ids = { ...found, backupId, storageDestinationId: destinationId, documentPath: 'users/ada' };
});
afterAll(() => bench.close());

async function ended(path: string, body?: object) {
  const started = await app.request('POST', path, { ...as, ...(body && { body }) });
  expect(started.status, started.text).toBe(202);
  return untilEnded(app, started.headers.get('location') as string, as);
}

const pathOf = (operation: Operation) => operation.path.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? 'made_up');
const read = async (path: string, headers = {}) => {
  const answer = await app.request('GET', path, { ...as, headers });
  return { answer, tag: answer.headers.get('etag') ?? '' };
};
const single = servedOperations.filter((operation) => operation.etag && operation.method === 'GET');
const changes = servedOperations.filter(({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method));

test('every single resource has a tag, the same for the same answer', async () => {
  expect(single.length).toBeGreaterThanOrEqual(13);
  for (const operation of single) {
    const { answer, tag } = await read(pathOf(operation));
    expect([operation.id, answer.status], answer.text).toEqual([operation.id, 200]);
    expect(tag, operation.id).toMatch(/^"[^"]+"$/);
    const { answer: again } = await read(pathOf(operation), { 'if-none-match': tag });
    // For example a key that was just used: a changed answer has a changed tag.
    if (again.status !== 304) expect(again.text, operation.id).not.toBe(answer.text);
  }
});

test('every PUT, PATCH and DELETE of the contract refuses a version that is not the present one', async () => {
  expect(changes.length).toBeGreaterThanOrEqual(20);
  for (const operation of changes) {
    const body = operation.id === 'setEncryptionKey' ? { passphrase: 'a long enough one' } : sampleBody(operation);
    const headers = { 'if-match': '"another"' };
    const answer = await app.request(operation.method, pathOf(operation), {
      ...as,
      headers,
      ...(body !== undefined && { body }),
    });
    expect([operation.id, answer.status, answer.body.error?.code]).toEqual([operation.id, 412, 'PRECONDITION_FAILED']);
  }
});

describe('a tag', () => {
  test('changes with counts from other rows: backups of a project, a destination, an organization', async () => {
    const paths = [
      `/api/v1/projects/${ids.projectId}`,
      `/api/v1/storage-destinations/${ids.storageDestinationId}`,
      '/api/v1/organizations/current',
    ];
    const before = await Promise.all(paths.map((path) => read(path)));
    await bench.backUp();
    for (const [index, path] of paths.entries()) {
      const { answer, tag } = await read(path);
      expect(answer.text).not.toBe(before[index]!.answer.text);
      expect(tag, path).not.toBe(before[index]!.tag);
    }
    const stale = { ...as, headers: { 'if-match': before[0]!.tag }, body: { name: 'Late' } };
    expect((await app.request('PATCH', paths[0] as string, stale)).status).toBe(412);
    const fresh = { ...as, headers: { 'if-match': (await read(paths[0] as string)).tag }, body: { name: 'In time' } };
    expect((await app.request('PATCH', paths[0] as string, fresh)).status).toBe(200);
  });

  test('of a change is the one that the next read shows, however little the change answers with', async () => {
    const path = `/api/v1/webhooks/${ids.webhookId}`;
    for (const [method, at, body] of [
      ['PUT', path, { name: 'Renamed' }],
      ['PATCH', path, { timeout: 5000 }],
      ['PATCH', `${path}/toggle`, { enabled: false }],
      ['PUT', '/api/v1/organizations/current', { settings: { timezone: 'Europe/Zurich' } }],
    ] as const) {
      const changed = await app.request(method, at, { ...as, body });
      expect(changed.status, changed.text).toBe(200);
      expect(changed.headers.get('etag'), at).toBe((await read(at.replace('/toggle', ''))).tag);
    }
  });

  test('of a webhook changes when it was triggered', async () => {
    const path = `/api/v1/webhooks/${ids.webhookId}`;
    await app.request('PATCH', `${path}/toggle`, { ...as, body: { enabled: true } });
    const before = await read(path);
    // Written at most once a second.
    app.clock.advance(2000);
    await app.request('PUT', '/api/v1/organizations/current', { ...as, body: { name: 'Told to the webhook' } });
    const triggeredAt = async () => (await read(path)).answer.body.data.lastTriggeredAt;
    await expect.poll(triggeredAt).not.toBe(before.answer.body.data.lastTriggeredAt);
    expect((await read(path)).tag).not.toBe(before.tag);
  });
});
