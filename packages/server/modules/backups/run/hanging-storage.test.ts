// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HostileStorage, startHostileStorage } from '../../../../engine/testing/hostile-storage.ts';
import { type ProtectedProject, protectProject, untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

let app: TestApp;
let storage: HostileStorage;
let hanging: ProtectedProject;
let other: ProtectedProject;

beforeAll(async () => {
  storage = await startHostileStorage('silent');
  app = await startTestApp({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', WORKER_CONCURRENCY: '2' });
  hanging = await protectProject(app, { sourceProjectId: 'hanging' });
  other = await protectProject(app, { sourceProjectId: 'other', firestore: hanging.firestore });
  for (const project of ['hanging', 'other'])
    hanging.firestore.control.loadSample({ project, database: '(default)' }, { documents: 10, seed: 1 });
});
afterAll(async () => {
  await app.close();
  await hanging.close();
  await storage.stop();
});

test('backups into a storage that never answers keep nobody else waiting', async () => {
  const as = { token: hanging.owner.token, organizationId: hanging.organizationId };
  const created = await app.request('POST', '/api/v1/storage-destinations', {
    ...as,
    body: {
      name: 'Silent',
      type: 's3',
      bucket: 'things',
      endpoint: storage.endpoint,
      forcePathStyle: true,
      credentials: { accessKeyId: 'someone', secretAccessKey: 'secret' },
    },
  });
  expect(created.status, created.text).toBe(201);
  const { host, port } = hanging.firestore;
  for (let n = 0; n < 3; n++) {
    const project = await app.request('POST', '/api/v1/projects', {
      ...as,
      body: {
        name: `Shop ${n}`,
        sourceProjectId: 'hanging',
        connection: { type: 'emulator', host: `${host}:${port}` },
      },
    });
    const body = { projectId: project.body.data.id, storageDestinationIds: [created.body.data.id] };
    expect((await app.request('POST', '/api/v1/backups', { ...as, body })).status).toBe(202);
  }
  const busy = async () =>
    (await app.platform.queue.counts()).find(({ kind, state }) => kind === 'backup-range' && state === 'active')?.count;
  await expect.poll(busy).toBe(2);
  const asOther = { token: other.owner.token, organizationId: other.organizationId };
  const started = await app.request('POST', '/api/v1/backups', { ...asOther, body: { projectId: other.projectId } });
  const ended = await untilEnded(app, `/api/v1/backups/${started.body.data.id}`, asOther, 20_000);
  expect(ended).toMatchObject({ status: 'completed' });
  await expect.poll(busy).toBe(2);
});
