import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ProtectedProject, protectProject } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let shop: ProtectedProject;

beforeAll(async () => {
  app = await startTestApp();
  shop = await protectProject(app);
});
afterAll(async () => {
  await shop.close();
  await app.close();
});

const call = (method: string, path: string, body?: object) =>
  app.request(method, `/api/v1${path}`, {
    token: shop.owner.token,
    organizationId: shop.organizationId,
    ...(body && { body }),
  });

const audited = async () => (await call('GET', '/audit-logs?limit=200')).body.data.length;

/** Whether a call left the record at `path` and the audit log unchanged. */
async function isNoChange(path: string, method: string, at: string, body: object): Promise<boolean> {
  const [before, entries] = [await call('GET', path), await audited()];
  const answer = await call(method, at, body);
  expect(answer.status, answer.text).toBe(200);
  const after = await call('GET', path);
  const isSame = after.text === before.text && after.headers.get('etag') === before.headers.get('etag');
  return isSame && (await audited()) === entries;
}

test('enabling a webhook that is enabled already writes no audit row', async () => {
  const hook = { name: 'Ops', url: 'https://example.com/hook', events: ['*'], timeout: 5000 };
  const path = `/webhooks/${(await call('POST', '/webhooks', hook)).body.data.id}`;
  expect(await isNoChange(path, 'PATCH', `${path}/toggle`, { enabled: true })).toBe(true);
  expect(await isNoChange(path, 'PUT', path, { name: 'Ops', events: ['*'] })).toBe(true);
  expect(await isNoChange(path, 'PATCH', path, { filters: {}, timeout: 5000 })).toBe(true);
  expect(await isNoChange(path, 'PATCH', path, { timeout: 6000 })).toBe(false);
  expect(await isNoChange(path, 'PATCH', `${path}/toggle`, { enabled: false })).toBe(false);
  expect(await isNoChange(path, 'PATCH', `${path}/toggle`, { enabled: false })).toBe(true);
  // Secrets and header values are stored sealed, so they cannot be compared.
  expect(await isNoChange(path, 'PUT', path, { secret: 'another secret' })).toBe(false);
});

test('a project that is given its present values was not changed', async () => {
  const path = `/projects/${shop.projectId}`;
  expect(await isNoChange(path, 'PATCH', path, {})).toBe(true);
  expect(await isNoChange(path, 'PATCH', path, { settings: { backupTimeoutMinutes: 31 } })).toBe(false);
  expect(await isNoChange(path, 'PATCH', path, { name: 'Shop', settings: { backupTimeoutMinutes: 31 } })).toBe(true);
});

test('a storage destination that is given its present values was not changed', async () => {
  const path = `/storage-destinations/${shop.destinationId}`;
  expect(await isNoChange(path, 'PATCH', path, {})).toBe(true);
  expect(await isNoChange(path, 'PATCH', path, { name: 'Folder', isDefault: true })).toBe(true);
  expect(await isNoChange(path, 'PATCH', path, { isDefault: false })).toBe(false);
  expect(await isNoChange(path, 'PATCH', path, { name: 'Cellar' })).toBe(false);
});
