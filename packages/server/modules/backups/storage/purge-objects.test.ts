// @module-tag long
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner, foundOrganization } from '../../../testing/people.ts';
import { type ProtectedProject, protectProject, untilEnded } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

let app: TestApp;
let project: ProtectedProject;
let s3: S3Sandbox;
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['one', 'two'], credentials: [sandboxS3Credential] });
  app = await startTestApp({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', STORAGE_RETRY_ATTEMPTS: '2' });
  project = await protectProject(app);
});
afterAll(async () => {
  await app.close();
  await project.close();
  await s3.stop();
});

/** Files below the destination's folder. */
async function filesThere(): Promise<string[]> {
  const folder = join(app.folder, 'storage', project.organizationId);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

test('purging an organization removes its objects', async () => {
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
  await expect.poll(filesThere).toEqual([]);
  await expect.poll(() => app.logged()).toContain('the objects of a purged organization were removed');
});

test('purging also removes objects that a migration has copied or is still copying', async () => {
  const moving = await protectProject(app, { firestore: project.firestore });
  const as = { token: moving.owner.token, organizationId: moving.organizationId };
  const post = async (path: string, body: object) => {
    const answer = await app.request('POST', `/api/v1${path}`, { ...as, body });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data;
  };
  const bucket = (name: string) => ({ name, type: 's3', bucket: name, endpoint: s3.endpoint, forcePathStyle: true });
  const credentials = sandboxS3Credential;
  const { id: from } = await post('/storage-destinations', { ...bucket('one'), credentials });
  const { id: to } = await post('/storage-destinations', { ...bucket('two'), credentials });
  const { id } = await post('/backups', { projectId: moving.projectId, storageDestinationId: from });
  await untilEnded(app, `/api/v1/backups/${id}`, as);
  const slow = (delayMs: number) => ({ delayRate: 1, delayMsMin: delayMs, delayMsMax: delayMs });
  s3.faults.set({ ...slow(1000), operations: ['PutObject'] });
  await post(`/storage-destinations/${from}/migrate`, { toStorageDestinationId: to });
  const keysIn = (name: string) => [...s3.objects.bucket(name).keys.entriesFrom('')].map(([key]) => key);
  await expect.poll(() => keysIn('two').some((key) => key.includes(id))).toBe(true);
  s3.faults.set({ ...slow(4000), operations: ['PutObject'] });
  const { name: confirmName } = (await app.request('GET', '/api/v1/organizations/current', as)).body.data;
  await post('/organizations/current/delete', { confirmName, force: true });
  const itsTime = "update pgboss.job set start_after = now() where name = 'organization-objects-remove'";
  const left = async () => {
    await asOwner(app.databaseUrl, (client) => client.query(itsTime));
    return [...keysIn('one'), ...keysIn('two')];
  };
  await expect.poll(left).toEqual([]);
  s3.faults.clear();
});

test('a storage that is away during all attempts is tried again later', async () => {
  const left = await protectProject(app, { firestore: project.firestore });
  const as = { token: left.owner.token, organizationId: left.organizationId };
  const post = async (path: string, body: object) => {
    const answer = await app.request('POST', `/api/v1${path}`, { ...as, body });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data;
  };
  const place = {
    name: 'Away',
    type: 's3',
    bucket: 'one',
    prefix: 'away',
    endpoint: s3.endpoint,
    forcePathStyle: true,
  };
  const credentials = sandboxS3Credential;
  const { id: storageDestinationId } = await post('/storage-destinations', { ...place, credentials });
  const { id } = await post('/backups', { projectId: left.projectId, storageDestinationId });
  await untilEnded(app, `/api/v1/backups/${id}`, as);
  const { name: confirmName } = (await app.request('GET', '/api/v1/organizations/current', as)).body.data;
  s3.faults.set({ errorRate: 1 });
  await post('/organizations/current/delete', { confirmName, force: true });
  const jobs = (change: string, where: string) =>
    asOwner(app.databaseUrl, async (client) => {
      const of = `data->'destination'->>'id' = '${storageDestinationId}' and state in ('created', 'retry')`;
      return (await client.query(`update pgboss.job set ${change} where ${of} and ${where} returning id`)).rowCount;
    });
  const tomorrow = `start_after > now() + interval '20 hours'`;
  await jobs('start_after = now(), retry_count = retry_limit', 'true');
  await expect.poll(() => jobs('start_after = now(), retry_count = retry_limit', `not ${tomorrow}`)).toBe(0);
  await expect.poll(() => jobs('priority = priority', tomorrow)).toBe(1);
  s3.faults.clear();
  await jobs('start_after = now()', tomorrow);
  await expect.poll(() => [...s3.objects.bucket('one').keys.entriesFrom('away')].length).toBe(0);
});

test('a locked backup that somebody with its key registers is not removed when the lock ends', async () => {
  const settings = { region: 'us-east-1', createdAtMs: Date.now(), versioning: 'Enabled' as const, objectLock: true };
  await s3.objects.saveBucket({ ...settings, name: 'vault' });
  const vault = {
    name: 'Vault',
    type: 's3',
    bucket: 'vault',
    endpoint: s3.endpoint,
    forcePathStyle: true,
    objectLock: { mode: 'governance', days: 10 },
    credentials: sandboxS3Credential,
  };
  const passphrase = 'one that people remember';
  const former = await protectProject(app, { firestore: project.firestore });
  const { token } = former.owner;
  const callAs = (organizationId: string) => async (method: string, path: string, body?: object) => {
    const answer = await app.request(method, `/api/v1${path}`, { token, organizationId, ...(body && { body }) });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body.data;
  };
  const call = callAs(former.organizationId);
  await call('PUT', '/organizations/current/encryption-key', { passphrase });
  const { id: storageDestinationId } = await call('POST', '/storage-destinations', vault);
  const { id } = await call('POST', '/backups', { projectId: former.projectId, storageDestinationId });
  await untilEnded(app, `/api/v1/backups/${id}`, { token, organizationId: former.organizationId });
  const { name: confirmName } = await call('GET', '/organizations/current');
  await call('POST', '/organizations/current/delete', { confirmName, force: true });
  const jobs = (change: string) =>
    asOwner(app.databaseUrl, async (client) => {
      const where = `data->>'purgedOrganizationId' = $1 and data->'destination'->>'id' = $2`;
      const open = `where ${where} and state in ('created', 'retry', 'active') returning data->>'kept' as kept`;
      const values = [former.organizationId, storageDestinationId];
      return (await client.query(`update pgboss.job set ${change} ${open}`, values)).rows.map(({ kept }) => kept);
    });
  await expect.poll(() => jobs('priority = priority')).toEqual(['1']);

  const organizationId = await foundOrganization(app, former.owner);
  const callAnew = callAs(organizationId);
  await callAnew('PUT', '/organizations/current/encryption-key', { passphrase });
  const { id: foundIn } = await callAnew('POST', '/storage-destinations', vault);
  const { id: taskId } = await callAnew('POST', `/storage-destinations/${foundIn}/rescan`);
  const task = `/api/v1/storage-destinations/${foundIn}/tasks/${taskId}`;
  expect((await untilEnded(app, task, { token, organizationId })).result).toMatchObject({ registered: 1 });
  for (const [, versions] of s3.objects.bucket('vault').keys.entriesFrom(''))
    for (const version of versions) delete version.retention;
  await jobs('start_after = now()');
  await expect.poll(() => jobs('priority = priority')).toEqual([]);
  await callAnew('GET', `/backups/${id}/documents`);
});
