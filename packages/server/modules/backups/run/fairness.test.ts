// @module-tag long
import { fillFast } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProtectedProject, protectProject, untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import { openPerOrganizationMax } from '../../jobs/index.ts';

const queued = 60;
let app: TestApp;
let large: ProtectedProject;
let small: ProtectedProject;

beforeAll(async () => {
  app = await startTestApp();
  large = await protectProject(app, { sourceProjectId: 'large' });
  small = await protectProject(app, { sourceProjectId: 'small', firestore: large.firestore });
  for (const project of ['large', 'small'])
    fillFast(large.firestore.control.database({ project, database: '(default)' }), {
      collection: 'items',
      documents: 200,
    });
});
afterAll(async () => {
  await app.close();
  await large.close();
});

test("a tenant's many waiting backups do not stand before another's single one", async () => {
  const asLarge = { token: large.owner.token, organizationId: large.organizationId };
  const asSmall = { token: small.owner.token, organizationId: small.organizationId };
  const host = large.firestore.address;
  const projects = [large.projectId];
  for (let index = 1; index < 10; index++) {
    const created = await app.request('POST', '/api/v1/projects', {
      ...asLarge,
      body: { name: `Shop ${index}`, sourceProjectId: 'large', connection: { type: 'emulator', host } },
    });
    projects.push(created.body.data.id);
  }
  large.firestore.control.addFault({ method: 'RunQuery', latencyMs: 300 });
  await Promise.all(
    Array.from({ length: queued }, (_, index) =>
      app.request('POST', '/api/v1/backups', { ...asLarge, body: { projectId: projects[index % projects.length] } }),
    ),
  );
  const running = await app.request('GET', '/api/v1/backups?status=running&limit=200', asLarge);
  expect(running.body.data.length).toBeLessThanOrEqual(openPerOrganizationMax);

  const { body } = await app.request('POST', '/api/v1/backups', { ...asSmall, body: { projectId: small.projectId } });
  const backup = await untilEnded(app, `/api/v1/backups/${body.data.id}`, asSmall);
  expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
  const waiting = await app.request('GET', '/api/v1/backups?status=pending&limit=200', asLarge);
  expect(waiting.body.data.length).toBeGreaterThan(queued / 2);
  large.firestore.control.clearFaults();
});

test('one backup runs per project, the next waits', async () => {
  const as = { token: small.owner.token, organizationId: small.organizationId };
  large.firestore.control.addFault({ method: 'RunQuery', latencyMs: 200 });
  const ids = await Promise.all(
    [1, 2, 3].map(
      async () =>
        (await app.request('POST', '/api/v1/backups', { ...as, body: { projectId: small.projectId } })).body.data
          .id as string,
    ),
  );
  let most = 0;
  for (;;) {
    const { body } = await app.request('GET', '/api/v1/backups?limit=10', as);
    const mine = (body.data as { id: string; status: string }[]).filter(({ id }) => ids.includes(id));
    most = Math.max(most, mine.filter(({ status }) => status === 'running').length);
    if (mine.every(({ status }) => status === 'completed')) break;
    expect(mine.some(({ status }) => status === 'failed')).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  expect(most).toBe(1);
  large.firestore.control.clearFaults();
});
