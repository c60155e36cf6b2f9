import { afterEach, beforeEach, expect, it } from 'vitest';
import { type GoogleSandbox, serveGoogleControl, startGoogleSandbox } from './index.ts';

let sandbox: GoogleSandbox;
let control: { url: string; stop(): Promise<void> };

beforeEach(async () => {
  sandbox = await startGoogleSandbox();
  control = await serveGoogleControl(sandbox.control);
});
afterEach(async () => {
  await control.stop();
  await sandbox.stop();
});

async function call(
  method: string,
  path: string,
  body: unknown = {},
): Promise<{ token?: string; client_email?: string }> {
  const response = await fetch(control.url + path, { method, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return (await response.json()) as { token?: string; client_email?: string };
}

it('everything a test does in process can be done from another one', async () => {
  await call('POST', '/people', { email: 'bob@example.com' });
  await call('POST', '/projects', { projectId: 'remote', grants: { 'bob@example.com': 'owner' } });
  const { token } = await call('POST', '/access-tokens', { email: 'bob@example.com' });
  const list = () => fetch(`${sandbox.url}/v1/projects`, { headers: { authorization: `Bearer ${token}` } });
  expect(await (await list()).json()).toMatchObject({ projects: [{ projectId: 'remote' }] });
  await call('PUT', '/faults', { faults: [{ kind: 'throttled' }] });
  expect((await list()).status).toBe(429);
  await call('DELETE', '/faults');
  expect((await call('POST', '/service-accounts', { projectId: 'remote' })).client_email).toContain('@remote.');
  await call('POST', '/consents/revoke', { email: 'bob@example.com' });
  expect((await list()).status).toBe(401);
});

it('an unknown action is refused', async () => {
  expect((await fetch(`${control.url}/nonsense`)).status).toBe(404);
});
