import { loadSample } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProtectedProject, protectProject, untilEnded } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let shop: ProtectedProject;
let as: { token: string; organizationId: string };

beforeAll(async () => {
  app = await startTestApp();
  shop = await protectProject(app);
  as = { token: shop.owner.token, organizationId: shop.organizationId };
  loadSample(shop.firestore.control.database({ project: 'shop', database: '(default)' }), { seed: 1, documents: 2000 });
});
afterAll(async () => {
  await app.close();
  await shop.close();
});

test('a full backup ends completed, with the documents that the database has', async () => {
  const started = await app.request('POST', '/api/v1/backups', { ...as, body: { projectId: shop.projectId } });
  expect(started.status, started.text).toBe(202);
  expect(started.headers.get('location')).toBe(`/api/v1/backups/${started.body.data.id}`);
  const backup = await untilEnded(app, `/api/v1/backups/${started.body.data.id}`, as);
  expect(backup.error).toBeNull();
  expect(backup.status).toBe('completed');
  expect(backup.documentCount).toBeGreaterThan(1900);
  expect(backup.snapshots).toHaveLength(1);
});
