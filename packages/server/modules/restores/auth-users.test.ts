import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  type AuthUser,
  type FirestoreSandbox,
  type GoogleSandbox,
  startFirestoreSandbox,
  startGoogleSandbox,
} from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { foundOrganization, signUp } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let google: GoogleSandbox;
let firestore: FirestoreSandbox;
let app: TestApp;
let as: { token: string; organizationId: string };
let wire: Server;
/** How many answers to imports are lost on the way back, from now on. */
let lost = 0;

const people: AuthUser[] = [
  {
    localId: 'ada',
    email: 'ada@example.com',
    passwordHash: Buffer.from('hash of ada').toString('base64'),
    salt: Buffer.from('salt').toString('base64'),
    customAttributes: '{"admin":true}',
  },
  { localId: 'bob', phoneNumber: '+41790000000', disabled: true },
];

/** Somebody else has her address there. */
const squatter: AuthUser = { localId: 'squatter', email: 'ada@example.com' };

const masses = Array.from({ length: 1200 }, (_, index) => ({ localId: `u${index}`, email: `u${index}@example.com` }));

beforeAll(async () => {
  google = await startGoogleSandbox({
    projects: [
      { projectId: 'shop', databases: [{ databaseId: '(default)' }], users: people },
      { projectId: 'copy', databases: [{ databaseId: '(default)' }] },
      { projectId: 'two', databases: [{ databaseId: '(default)' }, { databaseId: 'staging' }], users: people },
      { projectId: 'taken', databases: [{ databaseId: '(default)' }], users: [squatter] },
      { projectId: 'none', databases: [{ databaseId: '(default)' }] },
      { projectId: 'some', databases: [{ databaseId: '(default)' }], users: people.slice(1) },
      { projectId: 'crowd', databases: [{ databaseId: '(default)' }] },
      { projectId: 'empty', databases: [{ databaseId: '(default)' }] },
      { projectId: 'masses', databases: [{ databaseId: '(default)' }], users: masses },
      { projectId: 'silent', databases: [{ databaseId: '(default)' }] },
      { projectId: 'many', databases: [{ databaseId: '(default)' }] },
    ],
  });
  firestore = await startFirestoreSandbox();
  wire = createServer(async (incoming, answer) => {
    const { method = '', url = '', headers } = incoming;
    const body = method === 'POST' ? await text(incoming) : null;
    const authorization = headers.authorization ?? '';
    const reply = await fetch(new URL(url, google.endpoints.identitytoolkit), {
      method,
      body,
      headers: { authorization, 'content-type': 'application/json' },
    });
    const told = await reply.text();
    if (url.includes('accounts:batchCreate') && lost-- > 0) return void incoming.socket.destroy();
    answer.writeHead(reply.status, { 'content-type': 'application/json' }).end(told);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => wire.once('listening', resolve));
  const identitytoolkit = `http://127.0.0.1:${(wire.address() as AddressInfo).port}`;
  const endpoints = { ...google.endpoints, identitytoolkit, firestore: `http://${firestore.address}` };
  app = await startTestApp({
    GOOGLE_API_ENDPOINTS: JSON.stringify(endpoints),
    JOB_ATTEMPTS: '1',
    SOURCE_RETRY_ATTEMPTS: '2',
  });
  const owner = await signUp(app, 'owner@example.com');
  as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
  await post('/storage-destinations', { name: 'Folder', type: 'local', path: 'backups' });
});
afterAll(async () => {
  await app.close();
  wire.close();
  await firestore.stop();
  await google.stop();
});

async function post(path: string, body: object) {
  const answer = await app.request('POST', `/api/v1${path}`, { ...as, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}

const connect = (sourceProjectId: string) => {
  const connection = { type: 'service_account', key: google.control.createServiceAccount(sourceProjectId) };
  return post('/projects', { name: sourceProjectId, sourceProjectId, connection });
};

test('accounts go through the service into another project, passwords and claims included', async () => {
  const [shop, copy] = [await connect('shop'), await connect('copy')];
  const { id: backupId } = await post('/backups', { projectId: shop.id, includeAuthUsers: true });
  const backup = await untilEnded(app, `/api/v1/backups/${backupId}`, as);
  expect(backup, JSON.stringify(backup.error)).toMatchObject({ status: 'completed', includeAuthUsers: true });

  const target = { backupId, targetProjectId: copy.id };
  const { id: tried } = await post('/backups/restore', { ...target, options: { dryRun: true } });
  const foretold = { reason: expect.stringMatching(/accounts/), count: people.length };
  expect(await untilEnded(app, `/api/v1/backups/restore/${tried}`, as)).toMatchObject({
    preview: { irreversible: people.length },
    irreversibleReasons: [foretold],
  });
  expect(google.control.state.projects.get('copy')?.users.size).toBe(0);

  const { id } = await post('/backups/restore', target);
  const done = await untilEnded(app, `/api/v1/backups/restore/${id}`, as);
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed', includeAuthUsers: true });
  expect(done.irreversibleReasons).toEqual([foretold]);
  const { users, hashes } = google.control.state.projects.get('copy')!;
  expect([...users.values()].toSorted((a, b) => (a.localId < b.localId ? -1 : 1))).toMatchObject(people);
  expect(hashes.size).toBe(1);
});

test('a resume writes the accounts that were refused, and leaves what people changed in the others since', {
  tags: 'long',
}, async () => {
  const { data: projects } = (await app.request('GET', '/api/v1/projects', as)).body;
  const shopId = projects.find(({ name }: { name: string }) => name === 'shop').id;
  const taken = await connect('taken');
  const { id: backupId } = await post('/backups', { projectId: shopId, includeAuthUsers: true });
  await untilEnded(app, `/api/v1/backups/${backupId}`, as);
  const { id } = await post('/backups/restore', { backupId, targetProjectId: taken.id });
  const failed = await untilEnded(app, `/api/v1/backups/restore/${id}`, as);
  expect(failed).toMatchObject({ status: 'failed', error: { message: expect.stringMatching(/^1 account was not/) } });
  const { users } = google.control.state.projects.get('taken')!;
  expect([...users.keys()].toSorted()).toEqual(['/bob', '/squatter']);
  users.delete('/squatter');
  users.set('/bob', { ...users.get('/bob')!, displayName: 'Changed since' });
  await post(`/backups/restore/${id}/resume`, {});
  const done = await untilEnded(app, `/api/v1/backups/restore/${id}`, as);
  expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed' });
  expect(users.get('/ada')).toMatchObject({ email: 'ada@example.com' });
  expect(users.get('/bob')).toMatchObject({ displayName: 'Changed since' });
  expect(done.irreversibleReasons).toEqual([{ reason: expect.stringMatching(/accounts/), count: people.length }]);
});

test('a dry run counts the accounts that would be written: one that is there is left by skip_existing', {
  tags: 'long',
}, async () => {
  const { data: projects } = (await app.request('GET', '/api/v1/projects', as)).body;
  const shopId = projects.find(({ name }: { name: string }) => name === 'shop').id;
  const some = await connect('some');
  const { id: backupId } = await post('/backups', { projectId: shopId, includeAuthUsers: true });
  await untilEnded(app, `/api/v1/backups/${backupId}`, as);
  const accountsOf = async (options: object) => {
    const { id } = await post('/backups/restore', { backupId, targetProjectId: some.id, options });
    const done = await untilEnded(app, `/api/v1/backups/restore/${id}`, as);
    expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed' });
    return done.irreversibleReasons.map(({ count }: { count: number }) => count);
  };
  expect(await accountsOf({ dryRun: true })).toEqual([2]);
  expect(await accountsOf({ dryRun: true, mergeMode: 'skip_existing' })).toEqual([1]);
  expect(await accountsOf({ mergeMode: 'skip_existing' })).toEqual([1]);
  expect(await accountsOf({ dryRun: true, mergeMode: 'skip_existing' })).toEqual([]);
});

test('a restore that stops among its accounts writes no more of them, and says how many nobody can take back', {
  tags: 'long',
}, async () => {
  const [crowd, empty] = [await connect('crowd'), await connect('empty')];
  const written = google.control.state.projects.get('empty')!.users;
  for (const account of masses) google.control.state.projects.get('crowd')!.users.set(`/${account.localId}`, account);
  const { id: backupId } = await post('/backups', { projectId: crowd.id, includeAuthUsers: true });
  expect(await untilEnded(app, `/api/v1/backups/${backupId}`, as)).toMatchObject({ status: 'completed' });
  onTestFinished(() => google.control.setFaults([]));
  const stopAmongThem = async (stop: (id: string) => unknown) => {
    written.clear();
    google.control.setFaults([{ kind: 'latency', path: 'accounts:batchCreate', latencyMs: 1500 }]);
    const { id } = await post('/backups/restore', { backupId, targetProjectId: empty.id });
    await expect.poll(() => written.size).toBeGreaterThan(0);
    await stop(id);
    const stopped = await untilEnded(app, `/api/v1/backups/restore/${id}`, as);
    expect(written.size).toBeLessThan(masses.length);
    const irreversibleReasons = [{ reason: expect.stringMatching(/accounts/), count: written.size }];
    expect(stopped).toMatchObject({ irreversibleReasons });
    google.control.setFaults([]);
    await post(`/backups/restore/${id}/resume`, {});
    const done = await untilEnded(app, `/api/v1/backups/restore/${id}`, as);
    expect(done).toMatchObject({ status: 'completed', irreversibleReasons: [{ count: masses.length }] });
    expect(written.size).toBe(masses.length);
    return stopped.status;
  };
  expect(await stopAmongThem((id) => post(`/backups/restore/${id}/cancel`, {}))).toBe('cancelled');
  const refuse = () => google.control.setFaults([{ kind: 'permission_denied', path: 'accounts:batchCreate' }]);
  expect(await stopAmongThem(refuse)).toBe('failed');
});

test('accounts of whose writing nobody heard are counted among those that nobody can take back', {
  tags: 'long',
}, async () => {
  const [crowded, silent] = [await connect('masses'), await connect('silent')];
  const { id: backupId } = await post('/backups', { projectId: crowded.id, includeAuthUsers: true });
  expect(await untilEnded(app, `/api/v1/backups/${backupId}`, as)).toMatchObject({ status: 'completed' });
  const written = google.control.state.projects.get('silent')!.users;
  const ended = (id: string) => untilEnded(app, `/api/v1/backups/restore/${id}`, as);
  const irreversible = (count: number) => [{ reason: expect.stringMatching(/accounts/), count }];
  for (const mergeMode of ['overwrite', 'skip_existing']) {
    const options = { mergeMode };
    written.clear();
    lost = 1;
    const { id: once } = await post('/backups/restore', { backupId, targetProjectId: silent.id, options });
    const all = { status: 'completed', irreversibleReasons: irreversible(1200) };
    expect(await ended(once), `${mergeMode}, one answer lost`).toMatchObject(all);
    written.clear();
    lost = 1000;
    const { id } = await post('/backups/restore', { backupId, targetProjectId: silent.id, options });
    const failed = await ended(id);
    expect([failed.status, written.size]).toEqual(['failed', 500]);
    expect(failed.irreversibleReasons, mergeMode).toEqual(irreversible(500));
    lost = 0;
    await post(`/backups/restore/${id}/resume`, {});
    expect(await ended(id), `${mergeMode}, resumed`).toMatchObject(all);
    expect(written.size).toBe(1200);
  }
});

test('accounts of tenants are left out, and the backup says whose, or that it could not ask', async () => {
  const many = await connect('many');
  const warnings = async () => {
    const { id } = await post('/backups', { projectId: many.id, includeAuthUsers: true });
    const backup = await untilEnded(app, `/api/v1/backups/${id}`, as);
    expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
    return backup.warnings.filter(({ code }: { code: string }) => code === 'AUTH_TENANTS_LEFT_OUT');
  };
  expect(await warnings()).toEqual([]);
  const { users } = google.control.state.projects.get('many')!;
  users.set('acme/x', { localId: 'x', tenantId: 'acme' });
  expect(await warnings()).toMatchObject([{ message: expect.stringContaining('not in this backup: acme.') }]);
  google.control.setFaults([{ kind: 'permission_denied', path: '/tenants' }]);
  onTestFinished(() => google.control.setFaults([]));
  expect(await warnings()).toMatchObject([{ message: expect.stringContaining('identitytoolkit.tenants.list') }]);
});

test('a backup that is tried in the database beside leaves the accounts that both of them share, unless somebody says so', {
  tags: 'long',
}, async () => {
  const connection = { type: 'service_account', key: google.control.createServiceAccount('two') };
  const connectTo = (databaseId: string) =>
    post('/projects', { name: `two ${databaseId}`, sourceProjectId: 'two', databaseId, connection });
  const [own, staging] = [await connectTo('(default)'), await connectTo('staging')];
  const backUp = async () => {
    const { id } = await post('/backups', { projectId: own.id, includeAuthUsers: true });
    expect(await untilEnded(app, `/api/v1/backups/${id}`, as)).toMatchObject({ status: 'completed' });
    return id;
  };
  const backupId = await backUp();
  const { users } = google.control.state.projects.get('two')!;
  users.set('/bob', { ...users.get('/bob')!, displayName: 'Changed since' });
  const nameAfter = async (options: object) => {
    const { id } = await post('/backups/restore', { backupId, targetProjectId: staging.id, options });
    const done = await untilEnded(app, `/api/v1/backups/restore/${id}`, as);
    expect(done, JSON.stringify(done.error)).toMatchObject({ status: 'completed' });
    return [done.includeAuthUsers, users.get('/bob')?.displayName];
  };
  expect(await nameAfter({})).toEqual([false, 'Changed since']);
  expect(await nameAfter({ includeAuthUsers: true })).toEqual([true, undefined]);
});

test('accounts that are asked for and are in no backup are refused, and not called restored', async () => {
  const none = await connect('none');
  const { id: backupId } = await post('/backups', { projectId: none.id, includeAuthUsers: false });
  expect(await untilEnded(app, `/api/v1/backups/${backupId}`, as)).toMatchObject({ status: 'completed' });
  for (const what of [{ backupId }, { items: [{ backupId, path: 'users/ada' }] }]) {
    const body = { ...what, options: { includeAuthUsers: true } };
    const refused = await app.request('POST', '/api/v1/backups/restore', { ...as, body });
    expect([refused.status, refused.body.error?.details?.field]).toEqual([400, 'options.includeAuthUsers']);
  }
});
