import {
  type GoogleSandbox,
  type S3Sandbox,
  sandboxS3Credential,
  startGoogleSandbox,
  startS3Sandbox,
} from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { asOwner, foundOrganization, signUp } from '../../testing/people.ts';
import { startTestApp, type TestApp, type TestResponse } from '../../testing/test-app.ts';
import { checkStorageJob } from './jobs.ts';

let app: TestApp;
let s3: S3Sandbox;
let google: GoogleSandbox;
let as: { token: string; organizationId: string };

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['first', 'second'] });
  google = await startGoogleSandbox();
  app = await startTestApp({
    OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8',
    STORAGE_RETRY_ATTEMPTS: '2',
    GOOGLE_API_ENDPOINTS: JSON.stringify({ ...google.endpoints, storage: google.endpoints.oauth2 }),
  });
  const owner = await signUp(app, 'owner@example.com');
  as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
});
afterAll(async () => {
  await app.close();
  await Promise.all([s3.stop(), google.stop()]);
});
afterEach(() => s3.faults.clear());

const call = (method: string, path: string, body?: object) =>
  app.request(method, `/api/v1/storage-destinations${path}`, { ...as, ...(body ? { body } : {}) });
const bucket = (more: object = {}) => ({
  name: 'Bucket',
  type: 's3',
  bucket: 'first',
  endpoint: s3.endpoint,
  forcePathStyle: true,
  credentials: sandboxS3Credential,
  ...more,
});

async function create(more: object = {}) {
  const created = await call('POST', '', bucket(more));
  expect(created.status, created.text).toBe(201);
  return created.body.data;
}

describe('a destination', () => {
  test('is checked when it is made, never shows its credentials, and the first becomes the default', async () => {
    const row = await create({ prefix: 'team' });
    expect(row).toMatchObject({
      status: 'connected',
      error: null,
      isDefault: true,
      prefix: 'team',
      usage: { backups: 0, bytes: 0 },
    });
    const shown = await call('GET', `/${row.id}`);
    expect(shown.text).not.toContain(sandboxS3Credential.secretAccessKey);
    expect((await create()).isDefault).toBe(false);
  });

  test('says step by step what works and what does not', async () => {
    const row = await create();
    const good = await call('POST', `/${row.id}/test`);
    const names = ['write', 'read', 'range', 'list', 'delete'];
    expect(good.body.data.steps.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok])).toEqual(
      names.map((name) => [name, true]),
    );
    s3.faults.set({ errorRate: 1, operations: ['ListObjectsV2'] });
    const bad = await call('POST', `/${row.id}/test`);
    expect(bad.status).toBe(200);
    expect(bad.body.data.ok).toBe(false);
    expect(bad.body.data.steps.at(-1)).toMatchObject({ name: 'list', ok: false, error: expect.any(String) });
    expect((await call('GET', `/${row.id}`)).body.data).toMatchObject({
      status: 'error',
      error: { code: 'STORAGE_UNAVAILABLE' },
    });
    // Who comes later reads what it was, step by step, and when.
    const shown = (await call('GET', `/${row.id}`)).body.data;
    expect(shown.lastTest).toEqual({ ...bad.body.data, at: shown.lastCheckedAt });
    s3.faults.clear();
    const again = (await call('POST', `/${row.id}/test`)).body.data;
    expect(again).toMatchObject({ ok: true, keepsVersions: false });
    expect((await call('GET', `/${row.id}`)).body.data).toMatchObject({ status: 'connected', lastTest: again });
  });

  test('that is slow and answers every step in time works, however long the steps take together', {
    tags: 'long',
  }, async () => {
    const { id } = await create({ name: 'Slow' });
    s3.faults.set({ delayRate: 1, delayMsMin: 1500, delayMsMax: 1500 });
    const { ok, steps } = (await call('POST', `/${id}/test`)).body.data;
    expect(ok, JSON.stringify(steps)).toBe(true);
    const durationsMs: number[] = steps.map(({ durationMs }: { durationMs: number }) => durationMs);
    expect(durationsMs.reduce((sum, one) => sum + one)).toBeGreaterThan(8000);
    expect((await call('GET', `/${id}`)).body.data).toMatchObject({ status: 'connected', error: null });
  });

  test('is looked at again by itself: failing it turns to error, mended it turns back, and each turn is told once', {
    tags: 'long',
  }, async () => {
    const row = await create();
    const look = () =>
      app.platform.database.tenant(as.organizationId, (transaction) =>
        app.platform.queue.enqueue(
          transaction,
          checkStorageJob,
          { organizationId: as.organizationId, storageDestinationId: row.id },
          { key: row.id },
        ),
      );
    const status = async () => (await call('GET', `/${row.id}`)).body.data.status;
    s3.faults.set({ errorRate: 1 });
    await look();
    await expect.poll(status).toBe('error');
    s3.faults.clear();
    await expect
      .poll(
        async () => {
          await look();
          return status();
        },
        { timeout: 20_000, interval: 1000 },
      )
      .toBe('connected');
    const told = await asOwner(app.databaseUrl, (client) =>
      client.query(
        `select type from outbox_events where payload->'data'->'storageDestination'->>'id' = $1 order by position`,
        [row.id],
      ),
    );
    expect(told.rows.map(({ type }) => type)).toEqual(['storage.connected', 'storage.error', 'storage.connected']);
  });

  test('of credentials that are wrong is kept, and mended by new ones', async () => {
    const row = await create({ credentials: { accessKeyId: 'sandbox', secretAccessKey: 'no' } });
    expect(row).toMatchObject({ status: 'error', error: { code: 'STORAGE_PERMISSION_DENIED' } });
    const patched = await call('PATCH', `/${row.id}`, { credentials: sandboxS3Credential });
    expect(patched.body.data).toMatchObject({ status: 'connected', error: null });
    expect((await call('DELETE', `/${row.id}`)).status).toBe(200);
    expect((await call('GET', `/${row.id}`)).body.error.code).toBe('STORAGE_DESTINATION_NOT_FOUND');
  });

  test('is turned elsewhere only by who knows its credentials', async () => {
    const row = await create();
    const elsewhere = [{ endpoint: 'https://collector.example.com' }, { endpoint: null }, { region: 'eu-west-1' }];
    for (const change of [...elsewhere, { bucket: 'second' }]) {
      const answer = await call('PATCH', `/${row.id}`, change);
      expect([answer.status, answer.body.error?.code, answer.body.error?.details?.field], answer.text).toEqual([
        400,
        'VALIDATION_ERROR',
        'credentials',
      ]);
    }
    const same = await call('PATCH', `/${row.id}`, { endpoint: s3.endpoint, name: 'Renamed' });
    expect(same.body.data, same.text).toMatchObject({ name: 'Renamed', endpoint: s3.endpoint, status: 'connected' });
    const turned = await call('PATCH', `/${row.id}`, { region: 'eu-west-1', credentials: sandboxS3Credential });
    expect(turned.body.data, turned.text).toMatchObject({ region: 'eu-west-1' });
  });

  test('of a bucket whose name was misspelt is mended by the right one', async () => {
    const row = await create({ bucket: 'frist' });
    expect(row).toMatchObject({ status: 'error', bucket: 'frist' });
    const mended = await call('PATCH', `/${row.id}`, { bucket: 'first', credentials: sandboxS3Credential });
    expect(mended.body.data, mended.text).toMatchObject({ status: 'connected', error: null, bucket: 'first' });
  });

  test('that is turned to a bucket which does not work yet is no longer counted as the place it was', async () => {
    await create();
    const row = await create({ name: 'The same place' });
    const turned = await call('PATCH', `/${row.id}`, { bucket: 'absent', credentials: sandboxS3Credential });
    expect(turned.body.data, turned.text).toMatchObject({ status: 'error', bucket: 'absent' });
    const { rows } = await asOwner(app.databaseUrl, (client) =>
      client.query('select place_id from storage_destinations where id = $1', [row.id]),
    );
    expect(rows).toEqual([{ place_id: null }]);
  });

  test('of Google Cloud Storage takes no endpoint, neither new nor later', async () => {
    const serviceAccountKey = google.control.createServiceAccount('sandbox');
    const gcs = { name: 'Google', type: 'gcs', bucket: 'things', credentials: { serviceAccountKey } };
    const refused = (answer: TestResponse) =>
      expect([answer.status, answer.body.error?.code, answer.body.error?.details?.field], answer.text).toEqual([
        400,
        'VALIDATION_ERROR',
        'endpoint',
      ]);
    refused(await call('POST', '', { ...gcs, endpoint: s3.endpoint }));
    refused(await call('POST', '/buckets', { type: 'gcs', credentials: gcs.credentials, endpoint: s3.endpoint }));
    const created = await call('POST', '', gcs);
    expect(created.status, created.text).toBe(201);
    const { id } = created.body.data;
    refused(await call('PATCH', `/${id}`, { endpoint: s3.endpoint }));
    refused(await call('PATCH', `/${id}`, { endpoint: s3.endpoint, credentials: gcs.credentials }));
    expect((await call('GET', `/${id}`)).body.data.endpoint).toBeNull();
  });

  test('shows the buckets that given credentials can see', async () => {
    const { name: _, bucket: __, ...connection } = bucket();
    const answer = await call('POST', '/buckets', connection);
    expect(
      answer.body.data.buckets.map(({ name }: { name: string }) => name),
      answer.text,
    ).toEqual(['first', 'second']);
    const refused = await call('POST', '/buckets', {
      ...connection,
      credentials: { accessKeyId: 'sandbox', secretAccessKey: 'no' },
    });
    expect([refused.status, refused.body.error.code]).toEqual([502, 'STORAGE_PERMISSION_DENIED']);
  });
});

describe('an address', () => {
  test.each([
    'http://10.0.0.1:9000',
    'http://93.184.216.34',
    'https://169.254.169.254',
    'https://[::1]:9000',
    'https://192.168.1.5',
  ])('inside a private network is refused: %s', async (endpoint) => {
    const answer = await call('POST', '', bucket({ endpoint }));
    expect([answer.status, answer.body.error?.details?.field], answer.text).toEqual([400, 'endpoint']);
  });

  test.each(['my backups', 'ü', 'a?b', 'a#b', '%2e%2e', 'a\\b', '/a', 'a//b', 'a/../b'])(
    'below a prefix in which no object of ours can lie is refused: %s',
    async (prefix) => {
      const answer = await call('POST', '', bucket({ prefix }));
      expect([answer.status, answer.body.error?.details?.field], answer.text).toEqual([400, 'prefix']);
    },
  );

  test.each(['../outside', '/etc', '.', 'postgres/base', 'master.key'])(
    'of a folder that is not below the data folder, or is ours, is refused: %s',
    async (path) => {
      const answer = await call('POST', '', { name: 'Folder', type: 'local', path });
      expect([answer.status, answer.body.error?.details?.field], answer.text).toEqual([400, 'path']);
    },
  );

  test.each([
    ['credentials', sandboxS3Credential],
    ['bucket', 'first'],
    ['region', 'us-east-1'],
    ['forcePathStyle', true],
  ])('of a folder is not said by the settings of a bucket, and the fault names which: %s', async (field, value) => {
    const made = await call('POST', '', { name: 'Folder', type: 'local', path: 'disk', isDefault: false });
    const answer = await call('PATCH', `/${made.body.data.id}`, { [field]: value });
    expect([answer.status, answer.body.error?.details?.field], answer.text).toEqual([400, field]);
  });
});
