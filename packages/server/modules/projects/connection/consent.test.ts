import {
  type FirestoreSandbox,
  type GoogleSandbox,
  startFirestoreSandbox,
  startGoogleSandbox,
} from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

const client = { clientId: 'holdfast', clientSecret: 'planted-secret' };
const email = 'ada@example.com';

let google: GoogleSandbox;
let firestore: FirestoreSandbox;
let app: TestApp;

beforeAll(async () => {
  google = await startGoogleSandbox({
    clients: [client],
    people: [{ email, name: 'Ada' }],
    projects: [{ projectId: 'shop', databases: [{ databaseId: '(default)' }] }],
  });
  firestore = await startFirestoreSandbox();
  app = await startTestApp({
    OIDC_ISSUER: google.url,
    OIDC_CLIENT_ID: client.clientId,
    OIDC_CLIENT_SECRET: client.clientSecret,
    GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, firestore: `http://${firestore.address}` }),
    SOURCE_RETRY_ATTEMPTS: '2',
    JOB_ATTEMPTS: '1',
  });
});
afterAll(async () => {
  await app.close();
  await firestore.stop();
  await google.stop();
});

/** Through the provider's consent screen, as a program that holds its own callback does. */
async function signIn(): Promise<string> {
  const redirectUri = 'http://127.0.0.1/callback';
  const discovery = (await (await fetch(`${google.url}/.well-known/openid-configuration`)).json()) as {
    authorization_endpoint: string;
  };
  const consent = new URL(discovery.authorization_endpoint);
  const scope = 'openid email profile https://www.googleapis.com/auth/datastore';
  const query = {
    client_id: client.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    access_type: 'offline',
    login_hint: email,
  };
  consent.search = new URLSearchParams(query).toString();
  const answered = await fetch(consent, { redirect: 'manual' });
  const code = new URL(answered.headers.get('location') as string).searchParams.get('code');
  const body = { code, redirectUri, grant_type: 'authorization_code' };
  const exchanged = await app.request('POST', '/api/v1/auth/token', { body });
  expect(exchanged.status, exchanged.text).toBe(200);
  return exchanged.body.data.accessToken;
}

test('a project lives from a consent, falls with it, and stands again with the next one', async () => {
  const token = await signIn();
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
  await signIn();
  await expect.poll(async () => (await project()).connection.status, { timeout: 10_000 }).toBe('connected');
  expect((await backUp()).status).toBe('completed');

  // A key takes the place of the consent once it works, and of a key that works nothing that does not.
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
