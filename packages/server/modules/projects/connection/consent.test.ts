// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Consenting, startConsenting } from '../../../testing/consenting.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import type { TestApp } from '../../../testing/test-app.ts';

const email = 'ada@example.com';

let consenting: Consenting;
let app: TestApp;

beforeAll(async () => {
  consenting = await startConsenting([email]);
  app = consenting.app;
});
afterAll(() => consenting.close());

test('a project uses a consent, stops when it is lost, and works again with the next one', async () => {
  const { google } = consenting;
  const token = await consenting.signIn(email);
  const organization = await app.request('POST', '/api/v1/organizations', { token, body: { name: 'Ada & Co' } });
  const as = { token, organizationId: organization.body.data.id };
  const shown = await app.request('GET', '/api/v1/organizations/current', as);
  expect(shown.body.data.allows.googleConsent).toBe(true);
  const available = await app.request('GET', '/api/v1/projects/available', as);
  expect(available.body.data, available.text).toMatchObject([
    { sourceProjectId: 'shop', databases: [{ databaseId: '(default)', connected: false }] },
  ]);
  const connected = await app.request('POST', '/api/v1/projects', {
    ...as,
    body: { name: 'Shop', sourceProjectId: 'shop', connection: { type: 'oauth' } },
  });
  expect(connected.body.data, connected.text).toMatchObject({
    connection: { type: 'oauth', status: 'connected', email, error: null },
  });
  const projectId = connected.body.data.id;
  const destination = { name: 'Folder', type: 'local', path: 'storage/ada' };
  expect((await app.request('POST', '/api/v1/storage-destinations', { ...as, body: destination })).status).toBe(201);
  const backUp = async () => {
    const started = await app.request('POST', '/api/v1/backups', { ...as, body: { projectId } });
    expect(started.status, started.text).toBe(202);
    return untilEnded(app, `/api/v1/backups/${started.body.data.id}`, as);
  };
  const project = async () => (await app.request('GET', `/api/v1/projects/${projectId}`, as)).body.data;
  expect((await backUp()).status).toBe('completed');

  google.control.revokeConsent(email);
  const unseen = await app.request('GET', '/api/v1/projects/available', as);
  expect([unseen.status, unseen.body.error?.code], unseen.text).toEqual([502, 'SOURCE_AUTH_ERROR']);
  const reconnect = `POST /api/v1/projects/${projectId}/reconnect`;
  for (let round = 0; round < 2; round++) {
    const failed = await backUp();
    expect(failed).toMatchObject({
      status: 'failed',
      error: { code: 'SOURCE_AUTH_ERROR', retryable: false, details: { reconnect } },
    });
    expect((await project()).connection).toMatchObject({ status: 'unauthorized', error: { details: { reconnect } } });
  }
  const sent = await app.request('POST', `/api/v1/projects/${projectId}/reconnect`, as);
  expect(sent.body.data, sent.text).toMatchObject({
    authorizationUrl: expect.stringContaining('/api/v1/auth/google'),
    connection: { status: 'unauthorized' },
  });
  await consenting.signIn(email);
  await expect.poll(async () => (await project()).connection.status).toBe('connected');
  expect((await backUp()).status).toBe('completed');

  // A key replaces the consent once it works, and a key that does not work replaces nothing.
  const give = (key: object) =>
    app.request('POST', `/api/v1/projects/${projectId}/reconnect`, { ...as, body: { key } });
  const unknown = {
    ...google.control.createServiceAccount('shop'),
    client_email: 'nobody@shop.iam.gserviceaccount.com',
  };
  const refused = await give(unknown);
  expect([refused.status, refused.body.error?.code], refused.text).toEqual([502, 'SOURCE_AUTH_ERROR']);
  expect((await project()).connection).toMatchObject({ type: 'oauth', status: 'connected', email });
  const given = await give(google.control.createServiceAccount('shop'));
  expect(given.body.data, given.text).toMatchObject({
    authorizationUrl: null,
    connection: { type: 'service_account', status: 'connected', error: null },
  });
  google.control.revokeConsent(email);
  expect((await give(unknown)).status).toBe(502);
  expect((await project()).connection).toMatchObject({ type: 'service_account', status: 'connected' });
  expect((await backUp()).status).toBe('completed');
});
