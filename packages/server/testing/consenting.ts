import {
  type FirestoreSandbox,
  type GoogleSandbox,
  startFirestoreSandbox,
  startGoogleSandbox,
} from '@holdfast/sandbox';
import { expect } from 'vitest';
import { startTestApp, type TestApp } from './test-app.ts';

const client = { clientId: 'holdfast', clientSecret: 'planted-secret' };

export interface Consenting {
  readonly google: GoogleSandbox;
  readonly firestore: FirestoreSandbox;
  readonly app: TestApp;
  /** Passes the provider's consent screen, as a program with its own callback does. Returns the access token. */
  signIn(email: string): Promise<string>;
  close(): Promise<void>;
}

/** The service with Google: people who consent, and the project `shop`, which everybody except `strangers` may read. */
export async function startConsenting(
  emails: readonly string[],
  strangers: readonly string[] = [],
): Promise<Consenting> {
  const google = await startGoogleSandbox({
    clients: [client],
    people: emails.map((email) => ({ email, name: email.split('@')[0] ?? email })),
    projects: [{ projectId: 'shop', databases: [{ databaseId: '(default)' }] }],
  });
  const mayRead = (token: string) => !strangers.includes(google.control.verifyAccessToken(token)?.email ?? '');
  const firestore = await startFirestoreSandbox({ authorize: (token) => (mayRead(token) ? 'allow' : 'deny') });
  const app = await startTestApp({
    OIDC_ISSUER: google.url,
    OIDC_CLIENT_ID: client.clientId,
    OIDC_CLIENT_SECRET: client.clientSecret,
    GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, firestore: `http://${firestore.address}` }),
    SOURCE_RETRY_ATTEMPTS: '2',
    JOB_ATTEMPTS: '1',
  });
  return {
    google,
    firestore,
    app,
    signIn: (email) => signIn(google, app, email),
    close: async () => {
      await app.close();
      await firestore.stop();
      await google.stop();
    },
  };
}

async function signIn(google: GoogleSandbox, app: TestApp, email: string): Promise<string> {
  const redirectUri = 'http://127.0.0.1/callback';
  const discovery = (await (await fetch(`${google.url}/.well-known/openid-configuration`)).json()) as {
    authorization_endpoint: string;
  };
  const consent = new URL(discovery.authorization_endpoint);
  const query = {
    client_id: client.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid email profile https://www.googleapis.com/auth/datastore',
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
