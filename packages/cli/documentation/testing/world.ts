import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Firestore } from '@google-cloud/firestore';
import { createClient } from '@holdfast/contract/client';
import {
  type S3SandboxOptions,
  sandboxS3Credential,
  startFirestoreSandbox,
  startGcsSandbox,
  startGoogleSandbox,
  startS3Sandbox,
} from '@holdfast/sandbox';
import { signUp } from '../../../server/testing/people.ts';
import { startTestApp } from '../../../server/testing/test-app.ts';
import { DocumentShell } from './shell.ts';

const oidc = { clientId: 'holdfast', clientSecret: 'planted-secret' };
const owner = 'owner@acme.test';

/**
 * Everything the reader of a page has: a service, a Firebase project, buckets, a shell, and the files that the page
 * names.
 */
export async function openWorld(bucket: Pick<S3SandboxOptions, 'credentials'> = {}) {
  const google = await startGoogleSandbox({
    clients: [oidc],
    people: [{ email: owner, name: 'Owner' }],
    projects: ['acme-shop', 'acme-logs'].map((projectId) => ({ projectId, databases: [{ databaseId: '(default)' }] })),
  });
  const sandbox = await startFirestoreSandbox();
  const s3 = await startS3Sandbox({ region: 'eu-central-1', buckets: ['acme'], ...bucket });
  const versioned = { region: 'eu-central-1', versioning: 'Enabled' as const, objectLock: true };
  await s3.objects.saveBucket({ ...versioned, name: 'acme-backups', createdAtMs: Date.now() });
  const gcs = await startGcsSandbox({
    buckets: ['acme-backups'],
    isTokenValid: (token) => google.control.verifyAccessToken(token) !== undefined,
  });
  const app = await startTestApp({
    OIDC_ISSUER: google.url,
    OIDC_CLIENT_ID: oidc.clientId,
    OIDC_CLIENT_SECRET: oidc.clientSecret,
    LOCAL_SIGN_IN: 'true',
    GOOGLE_API_ENDPOINTS: JSON.stringify({
      ...google.endpoints,
      firestore: `http://${sandbox.address}`,
      storage: gcs.endpoint,
    }),
    OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
    PITR_SEGMENT_SECONDS: '0.3',
  });
  const token = await consent(google.url, app.address);
  const founder = createClient({ baseUrl: app.address, token });
  const organization = await founder.createOrganization({ body: { name: 'Acme' } });
  const client = createClient({ baseUrl: app.address, token, organizationId: organization.id });
  const firestore = new Firestore({ projectId: 'acme-shop', host: sandbox.address, ssl: false });
  const shell = await DocumentShell.open();
  const key = google.control.createServiceAccount('acme-shop');
  await writeFile(join(shell.folder, 'key.json'), JSON.stringify(key));
  await writeFile(join(shell.folder, 'passphrase.txt'), 'correct horse battery staple\n');
  for (const id of ['ada', 'alan', 'grace']) await firestore.doc(`users/${id}`).set({ name: `${id} Lovelace` });
  await firestore.doc('orders/1').set({ total: 3 });
  const ada = await signUp(app, 'ada@acme.test');
  const env = {
    HOLDFAST_URL: app.address,
    HOLDFAST_TOKEN: token,
    HOLDFAST_ORGANIZATION: organization.id,
    AWS_ACCESS_KEY_ID: sandboxS3Credential.accessKeyId,
    AWS_SECRET_ACCESS_KEY: sandboxS3Credential.secretAccessKey,
    METADATA_SERVER_DETECTION: 'none',
  };
  return {
    ...{ google, sandbox, s3, gcs, app, client, firestore, shell, ada, env, key: JSON.stringify(key) },
    close: async () => {
      await shell.close();
      await firestore.terminate();
      await app.close();
      await Promise.all([sandbox.stop(), s3.stop(), gcs.stop(), google.stop()]);
    },
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

/** Passes the provider's consent screen, as a program with its own callback does. */
async function consent(issuer: string, service: string): Promise<string> {
  const redirectUri = 'http://127.0.0.1/callback';
  const discovery = await fetch(`${issuer}/.well-known/openid-configuration`);
  const screen = new URL(((await discovery.json()) as { authorization_endpoint: string }).authorization_endpoint);
  screen.search = new URLSearchParams({
    client_id: oidc.clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid email profile https://www.googleapis.com/auth/datastore',
    access_type: 'offline',
    login_hint: owner,
  }).toString();
  const answered = await fetch(screen, { redirect: 'manual' });
  const code = new URL(answered.headers.get('location') as string).searchParams.get('code') as string;
  const exchange = createClient({ baseUrl: service });
  return (await exchange.exchangeCode({ body: { code, redirectUri, grant_type: 'authorization_code' } })).accessToken;
}
