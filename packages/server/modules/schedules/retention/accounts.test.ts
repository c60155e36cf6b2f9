// @module-tag long
import { scopes } from '@holdfast/contract';
import {
  type FirestoreSandbox,
  type GoogleSandbox,
  startFirestoreSandbox,
  startGoogleSandbox,
} from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { foundOrganization, signUp } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

let google: GoogleSandbox;
let firestore: FirestoreSandbox;
let app: TestApp;
let as: { token: string; organizationId: string };

beforeAll(async () => {
  const users = [{ localId: 'ada', email: 'ada@example.com' }];
  google = await startGoogleSandbox({
    projects: [{ projectId: 'people', databases: [{ databaseId: '(default)' }], users }],
  });
  firestore = await startFirestoreSandbox();
  app = await startTestApp({
    GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, firestore: `http://${firestore.address}` }),
  });
  const owner = await signUp(app, 'owner@example.com');
  as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
  await make('/storage-destinations', { name: 'Folder', type: 'local', path: 'backups' });
  // A key outlasts the days that pass here, unlike a session.
  as.token = (await make('/organizations/current/service-account', { name: 'robot', permissions: scopes })).apiKey;
});
afterAll(async () => {
  await app.close();
  await Promise.all([firestore.stop(), google.stop()]);
});

const make = async (path: string, body: object) => {
  const { status, body: made, text } = await app.request('POST', `/api/v1${path}`, { ...as, body });
  if (status >= 300) throw new Error(text);
  return made.data;
};

test('the newest backup with accounts does not expire for the sake of newer ones without them', async () => {
  const connection = { type: 'service_account', key: google.control.createServiceAccount('people') };
  const { id: projectId } = await make('/projects', { name: 'People', sourceProjectId: 'people', connection });
  const backUp = async (includeAuthUsers: boolean): Promise<string> => {
    const { id } = await make('/backups', { projectId, includeAuthUsers, retention: 1 });
    const backup = await untilEnded(app, `/api/v1/backups/${id}`, as);
    expect(backup, JSON.stringify(backup.error)).toMatchObject({ status: 'completed', includeAuthUsers });
    return id;
  };
  const made = [await backUp(true), await backUp(true), await backUp(false), await backUp(false)];
  app.clock.advance(3 * 86_400_000);
  await app.tasks.runNow('retention');
  const isThere = async (id: string) => (await app.request('GET', `/api/v1/backups/${id}`, as)).status === 200;
  expect(await Promise.all(made.map(isThere))).toEqual([false, true, false, true]);
});
