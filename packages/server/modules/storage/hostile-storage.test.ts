// @module-tag long
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type HostileStorage, startHostileStorage } from '../../../engine/testing/hostile-storage.ts';
import { foundOrganization, signUp } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let storage: HostileStorage;
let as: { token: string; organizationId: string };
let path: string;

const connection = () => ({
  type: 's3',
  endpoint: storage.endpoint,
  forcePathStyle: true,
  credentials: { accessKeyId: 'someone', secretAccessKey: 'secret' },
});

beforeAll(async () => {
  storage = await startHostileStorage('redirect');
  app = await startTestApp({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8', JOB_ATTEMPTS: '1' });
  const owner = await signUp(app, 'owner@example.com');
  as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
  const body = { ...connection(), name: 'Hostile', bucket: 'things' };
  const created = await app.request('POST', '/api/v1/storage-destinations', { ...as, body });
  expect(created.status, created.text).toBe(201);
  path = `/api/v1/storage-destinations/${created.body.data.id}`;
});
afterAll(async () => {
  await app.close();
  await storage.stop();
});

test('a redirect is the storage’s fault in every call, and is not followed', async () => {
  storage.mischief = 'redirect';
  expect((await app.request('POST', `${path}/test`, as)).body.data.ok).toBe(false);
  expect((await app.request('GET', path, as)).body.data.error).toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    message: expect.stringContaining('not followed'),
  });
  const buckets = await app.request('POST', '/api/v1/storage-destinations/buckets', { ...as, body: connection() });
  expect(buckets.body.error?.code, buckets.text).toBe('STORAGE_UNAVAILABLE');
  expect(storage.seen.redirected).toBe(0);
});

test('storage that never answers is unavailable within ten seconds', async () => {
  storage.mischief = 'silent';
  const startedAtMs = performance.now();
  const answer = await app.request('POST', `${path}/test`, as);
  expect(answer.body.data, answer.text).toMatchObject({ ok: false });
  expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  expect((await app.request('GET', path, as)).body.data.error).toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    message: expect.stringContaining('did not answer'),
    details: { step: 'write' },
  });
});

test('a listing that never advances ends a rescan with a clear error', async () => {
  storage.mischief = 'standing still';
  const started = await app.request('POST', `${path}/rescan`, as);
  expect(started.status, started.text).toBe(202);
  const task = await untilEnded(app, started.headers.get('location') as string, as);
  expect(task).toMatchObject({
    status: 'failed',
    error: { code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('does not advance') },
  });
});

test('a listing without an end ends the search for orphans when its time is up', async () => {
  storage.mischief = 'never ending';
  const { timeout } = AbortSignal;
  const orphansMs = 15_000;
  const waits: number[] = [];
  const sooner = vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    waits.push(milliseconds);
    return timeout.call(AbortSignal, milliseconds === orphansMs ? 500 : milliseconds);
  });
  try {
    const answer = await app.request('GET', `${path}/orphans`, as);
    expect(waits).toContain(orphansMs);
    expect(answer.body.error, answer.text).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: expect.stringContaining('in time'),
    });
  } finally {
    sooner.mockRestore();
  }
});
