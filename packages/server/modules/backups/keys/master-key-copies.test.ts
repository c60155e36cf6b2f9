// @module-tag long
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BlobStore, copyKeyOf, createS3Store, readKeyCopies } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../../config.ts';
import { describeRotation, rotateMasterKey } from '../../../rotate-master-key.ts';
import { hasty } from '../../../testing/backup-bench.ts';
import { asOwner, foundOrganization, signUp } from '../../../testing/people.ts';
import { startTestApp, testMasterKey } from '../../../testing/test-app.ts';

let s3: S3Sandbox;
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['keys'] });
});
afterAll(() => s3.stop());

const environment = { ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' };
const bucketAt = (endpoint: string, name = 'Bucket') => ({
  name,
  type: 's3',
  bucket: 'keys',
  endpoint,
  forcePathStyle: true,
  credentials: sandboxS3Credential,
});
const openStore = (endpoint: string) =>
  createS3Store({
    kind: 's3',
    bucket: 'keys',
    credentials: sandboxS3Credential,
    region: 'us-east-1',
    endpoint,
    forcePathStyle: true,
  });

test('the keys beside the backups follow a new master key within eleven minutes', async () => {
  const before = await startTestApp({ ...environment, HOLDFAST_ROLES: 'api' });
  const next = randomBytes(32);
  const keys = { MASTER_KEY: next.toString('base64'), MASTER_KEYS_PREVIOUS: testMasterKey };
  const there = { DATABASE_URL: before.databaseUrl };
  const store = await openStore(s3.endpoint);
  const under = async (key: Uint8Array) => (await readKeyCopies(store, [copyKeyOf(key)])).copies.length;
  const former = Buffer.from(testMasterKey, 'base64');
  try {
    const worker = await startTestApp({ ...environment, ...there, HOLDFAST_ROLES: 'worker' });
    const owner = await signUp(before, 'rotating@example.com');
    const as = { token: owner.token, organizationId: await foundOrganization(before, owner) };
    const created = await before.request('POST', '/api/v1/storage-destinations', {
      ...as,
      body: bucketAt(s3.endpoint),
    });
    expect(created.body.data?.status, created.text).toBe('connected');
    await expect.poll(() => under(former)).toBe(1);
    await worker.close();
    expect([await under(former), await under(next)]).toEqual([1, 0]);

    const after = await startTestApp({ ...environment, ...there, ...keys });
    // The look at destinations comes each minute, and takes those that nobody has looked at for ten.
    let minutes = 0;
    while ((await under(next)) === 0 && minutes++ < 20) {
      after.clock.advance(60_000);
      await after.tasks.runNow('recheck storage');
      const isRenewed = async () => (await under(next)) > 0;
      if (minutes >= 10)
        await expect
          .poll(isRenewed, { timeout: 3000 })
          .toBe(true)
          .catch(() => undefined);
    }
    expect(minutes).toBeLessThanOrEqual(11);
    expect(minutes).toBeGreaterThan(8);
    await expect.poll(() => under(former)).toBe(0);
    await after.close();
  } finally {
    await store.close();
    await before.close();
  }
});

test('the command brings a new master key beside the backups, and keeps the old one until it could', async () => {
  const app = await startTestApp({ ...environment, MASTER_KEY: '' });
  const far = await startS3Sandbox({ buckets: ['keys'] });
  const stores: BlobStore[] = [];
  const keyFile = async (name: string) => Buffer.from(await readFile(join(app.folder, name), 'utf8'), 'base64');
  const under = async (key: Uint8Array) => {
    const counts: number[] = [];
    for (const store of stores) counts.push((await readKeyCopies(store, [copyKeyOf(key)])).copies.length);
    return counts;
  };
  try {
    const owner = await signUp(app, 'filed@example.com');
    const as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
    for (const [name, { endpoint }] of Object.entries({ near: s3, far })) {
      await app.request('POST', '/api/v1/storage-destinations', { ...as, body: bucketAt(endpoint, name) });
      stores.push(await openStore(endpoint));
    }
    const former = await keyFile('master.key');
    await expect.poll(() => under(former)).toEqual([1, 1]);

    const variables = { ...environment, DATABASE_URL: app.databaseUrl, HOLDFAST_DATA: app.folder, LOG_LEVEL: 'silent' };
    const config = loadConfig({ ...variables, STORAGE_RETRY_ATTEMPTS: '1' });
    far.faults.set({ errorRate: 1 });
    await app.stop();
    const first = await rotateMasterKey(config);
    expect(first.copies).toMatchObject({ renewed: 1, left: [{ name: 'far' }] });
    expect(describeRotation(first)).toMatch(/KEEP THE OLD KEY: .*\n {2}far /);
    expect(await keyFile('master.key.previous')).toEqual(former);
    far.faults.clear();
    const next = await keyFile('master.key');
    expect(await under(former)).toEqual([0, 1]);
    expect(await under(next)).toEqual([1, 0]);

    const second = await rotateMasterKey(config);
    expect(second.copies).toEqual({ renewed: 2, left: [] });
    expect(await keyFile('master.key')).toEqual(next);
    expect(await under(former)).toEqual([0, 0]);
    expect(await under(next)).toEqual([1, 1]);
    await expect(keyFile('master.key.previous')).rejects.toThrow('ENOENT');
  } finally {
    await app.close();
    for (const store of stores) await store.close();
    await far.stop();
  }
});

test('what is still to be removed of a purged organization goes under a new master key too', async () => {
  const app = await startTestApp({ ...environment, MASTER_KEY: '' });
  const far = await startS3Sandbox({ buckets: ['keys'] });
  const jobs = (change: string) =>
    asOwner(app.databaseUrl, async (client) => {
      const kept = `where name like 'organization-%-remove' and state in ('created', 'retry') returning id`;
      return (await client.query(`update pgboss.job set ${change} ${kept}`)).rows.length;
    });
  const objects = () => [...far.objects.bucket('keys').keys.entriesFrom('')].length;
  try {
    const owner = await signUp(app, 'purging@example.com');
    const as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
    await app.request('POST', '/api/v1/storage-destinations', { ...as, body: bucketAt(far.endpoint) });
    await expect.poll(objects).toBe(1);
    far.faults.set({ errorRate: 1 });
    const { name: confirmName } = (await app.request('GET', '/api/v1/organizations/current', as)).body.data;
    const body = { confirmName, force: true };
    await app.request('POST', '/api/v1/organizations/current/delete', { ...as, body });
    await expect.poll(() => jobs(`start_after = now() + interval '1 day'`)).toBe(1);
    await app.stop();
    far.faults.clear();
    const there = { DATABASE_URL: app.databaseUrl, HOLDFAST_DATA: app.folder };
    const report = await rotateMasterKey(loadConfig({ ...environment, ...there, LOG_LEVEL: 'silent' }));
    expect(describeRotation(report)).toContain('Nothing here needs the old key any more');
    const after = await startTestApp({ ...environment, ...there, MASTER_KEY: '' });
    await jobs('start_after = now()');
    await expect.poll(objects).toBe(0).finally(after.stop);
  } finally {
    await app.close();
    await far.stop();
  }
});
