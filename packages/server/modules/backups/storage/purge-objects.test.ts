import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProtectedProject, protectProject, untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

let app: TestApp;
let project: ProtectedProject;
beforeAll(async () => {
  app = await startTestApp();
  project = await protectProject(app);
});
afterAll(async () => {
  await app.close();
  await project.close();
});

/** Files below the destination's folder. */
async function filesThere(): Promise<string[]> {
  const folder = join(app.folder, 'storage', project.organizationId);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

test('the objects of an organization follow it when it is purged', async () => {
  const as = { token: project.owner.token, organizationId: project.organizationId };
  const body = { projectId: project.projectId, type: 'full', storageDestinationId: project.destinationId };
  const started = await app.request('POST', '/api/v1/backups', { ...as, body });
  expect(started.status, started.text).toBe(202);
  await untilEnded(app, `/api/v1/backups/${started.body.data.id}`, as);
  expect(await filesThere()).toContain('manifest');
  const { name } = (await app.request('GET', '/api/v1/organizations/current', as)).body.data;
  const deleted = await app.request('POST', '/api/v1/organizations/current/delete', {
    ...as,
    body: { confirmName: name, force: true },
  });
  expect(deleted.body.data.deletionType).toBe('permanent');
  await expect.poll(filesThere, { timeout: 20_000 }).toEqual([]);
  await expect.poll(() => app.logged()).toContain('the objects of a purged organization were removed');
});
