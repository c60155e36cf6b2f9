import { errorDefinition, type JobErrorCode } from '@holdfast/contract';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import { backupTimeoutMs } from './backup-timeout.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let bucketId: string;

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  bucketId = await addBucket('backups', sandboxS3Credential);
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});
beforeEach(() => bench.startOver());
afterEach(() => {
  bench.sandbox.control.clearFaults();
  bench.sandbox.control.clearAccess();
  s3.faults.clear();
});

async function addBucket(bucket: string, credentials: object): Promise<string> {
  const body = { name: bucket, type: 's3', bucket, endpoint: s3.endpoint, forcePathStyle: true, credentials };
  const created = await bench.app.request('POST', '/api/v1/storage-destinations', { ...bench.as, body });
  expect(created.status, created.text).toBe(201);
  return created.body.data.id;
}

/** Ended as failed with this code, its advice, and whether trying again can help. */
function expectFailed(backup: { status: string; error: object | null }, code: JobErrorCode, mend?: RegExp) {
  const { retryable, advice: usual } = errorDefinition(code).job!;
  const advice = mend ? expect.stringMatching(mend) : usual;
  expect(backup).toMatchObject({ status: 'failed', documentCount: null, error: { code, retryable, advice } });
}

const start = async (body: object = {}) => {
  const request = { ...bench.as, body: { projectId: bench.shop.projectId, ...body } };
  const started = await bench.app.request('POST', '/api/v1/backups', request);
  expect(started.status, started.text).toBe(202);
  return started.body.data.id as string;
};

describe('a source', () => {
  test('that refuses us fails the backup at once, names the call that mends it, and shows on the project', async () => {
    bench.sandbox.control.deny({ access: 'read' });
    const failed = await bench.run();
    expectFailed(failed, 'SOURCE_AUTH_ERROR', /^Grant the role .*roles\/datastore\.viewer/);
    expect(failed.error.details.missing).toContain('roles/datastore.viewer');
    expect(failed.copies).toMatchObject([{ status: 'failed', error: { code: 'SOURCE_AUTH_ERROR' } }]);
    const reconnect = `POST /api/v1/projects/${bench.shop.projectId}/reconnect`;
    expect(failed.error.details).toMatchObject({ reconnect, projectId: bench.shop.projectId });
    const project = await bench.get(`/projects/${bench.shop.projectId}`);
    expect(project.connection).toMatchObject({
      status: 'unauthorized',
      error: { code: 'SOURCE_AUTH_ERROR', details: { reconnect } },
    });
    expectFailed(await bench.run(), 'SOURCE_AUTH_ERROR', /^Grant the role/);
    bench.sandbox.control.clearAccess();
    const mended = await bench.app.request('POST', `/api/v1/projects/${bench.shop.projectId}/reconnect`, bench.as);
    expect(mended.body.data.connection, mended.text).toMatchObject({ status: 'connected', error: null });
    expect((await bench.run()).status).toBe('completed');
  });

  test('that lets us in again is connected as soon as a backup worked; the last good backup stays the last good one', async () => {
    const shown = () => bench.get(`/projects/${bench.shop.projectId}`);
    const good = await bench.run();
    bench.sandbox.control.deny({ access: 'read' });
    await bench.run();
    const broken = await shown();
    expect(broken.connection.status).toBe('unauthorized');
    expect(broken.statistics).toMatchObject({ lastBackupAt: good.completedAt, lastBackupStatus: 'failed' });
    expect(await bench.get('/projects')).toMatchObject([{ statistics: broken.statistics }]);
    bench.sandbox.control.clearAccess();
    const next = await bench.run();
    expect(await shown()).toMatchObject({
      connection: { status: 'connected', error: null },
      statistics: { lastBackupAt: next.completedAt, lastBackupStatus: 'completed' },
    });
    const events = await asOwner(bench.app.databaseUrl, (client) =>
      client.query(
        `select payload->'metadata' as metadata from outbox_events where type like 'backup.%' and organization_id = $1`,
        [bench.as.organizationId],
      ),
    );
    expect(events.rows.length).toBeGreaterThan(3);
    for (const { metadata } of events.rows) expect(metadata).toEqual({ trigger: 'manual', scheduleId: null });
  });

  test('whose quota is used up is SOURCE_QUOTA_EXCEEDED', async () => {
    bench.sandbox.control.addFault({ method: 'RunQuery', status: 'RESOURCE_EXHAUSTED' });
    expectFailed(await bench.run(), 'SOURCE_QUOTA_EXCEEDED');
  });

  test('that is away is SOURCE_UNAVAILABLE, at the start and in the middle', async () => {
    bench.sandbox.control.addFault({ status: 'UNAVAILABLE' });
    expectFailed(await bench.run(), 'SOURCE_UNAVAILABLE');
    bench.sandbox.control.clearFaults();
    bench.sandbox.control.addFault({ method: 'RunQuery', reset: true });
    expectFailed(await bench.run(), 'SOURCE_UNAVAILABLE');
  });

  test('that falls short only for a moment costs nothing but that moment', async () => {
    bench.sandbox.control.addFault({ method: 'RunQuery', status: 'UNAVAILABLE', times: 1 });
    expect((await bench.run()).status).toBe('completed');
  });
});

describe('a storage destination', () => {
  test('that is away is STORAGE_UNAVAILABLE', async () => {
    s3.faults.set({ errorRate: 1 });
    const failed = await bench.run({ storageDestinationId: bucketId });
    expectFailed(failed, 'STORAGE_UNAVAILABLE');
    expect(failed.copies).toMatchObject([
      { storageDestinationId: bucketId, status: 'failed', error: { code: 'STORAGE_UNAVAILABLE' } },
    ]);
  });

  test('that does not keep what it is sent is STORAGE_UPLOAD_ERROR', async () => {
    s3.faults.set({ corruptWriteRate: 1, operations: ['PutObject'] });
    expectFailed(await bench.run({ storageDestinationId: bucketId }), 'STORAGE_UPLOAD_ERROR');
    s3.faults.set({ errorRate: 1, operations: ['PutObject'] });
    expectFailed(await bench.run({ storageDestinationId: bucketId }), 'STORAGE_UPLOAD_ERROR');
  });

  test('that refuses our key is STORAGE_PERMISSION_DENIED, and was kept with status error to be mended', async () => {
    const id = await addBucket('backups', { accessKeyId: 'sandbox', secretAccessKey: 'wrong' });
    expect(await bench.get(`/storage-destinations/${id}`)).toMatchObject({
      status: 'error',
      error: { code: 'STORAGE_PERMISSION_DENIED' },
    });
    expectFailed(await bench.run({ storageDestinationId: id }), 'STORAGE_PERMISSION_DENIED', /holdfast storage update/);
    const patched = await bench.app.request('PATCH', `/api/v1/storage-destinations/${id}`, {
      ...bench.as,
      body: { credentials: sandboxS3Credential },
    });
    expect(patched.body.data.status, patched.text).toBe('connected');
    expect((await bench.run({ storageDestinationId: id })).status).toBe('completed');
  });

  test('beside a failing one holds the backup: read once, each copy with its own status, and readable', async () => {
    const broken = await addBucket('nowhere', sandboxS3Credential);
    const readsOf = async (body: object) => {
      bench.sandbox.control.resetCounters();
      return { backup: await bench.run(body), reads: bench.sandbox.control.counters().reads };
    };
    const alone = await readsOf({});
    const { backup, reads } = await readsOf({ storageDestinationIds: [broken, bench.shop.destinationId, bucketId] });
    expect(backup.status, JSON.stringify(backup.error)).toBe('completed');
    expect(reads).toBe(alone.reads);
    expect(backup.copies.map(({ status }: { status: string }) => status)).toEqual(['failed', 'completed', 'completed']);
    expect(backup.copies[0].error.code).toMatch(/^STORAGE_/);
    expect(backup.storageDestination.id).toBe(bench.shop.destinationId);
    expect(backup.warnings).toEqual([{ code: 'COPY_FAILED', message: expect.stringContaining(broken) }]);
    expect(await bench.get(`/backups/${backup.id}/documents`)).toHaveLength(1);
    const increment = await bench.run({
      type: 'incremental',
      storageDestinationIds: [bench.shop.destinationId, bucketId],
    });
    expect(increment).toMatchObject({ type: 'incremental', parentId: backup.id });
    s3.faults.set({ errorRate: 1 });
    expect(await bench.get(`/backups/${increment.id}/documents`)).toHaveLength(1);
  });
});

describe('a backup that must not go on', () => {
  /** One that would take half a minute in this phase, and has come that far. */
  async function startSlowly(phase: string): Promise<string> {
    const text = 'x'.repeat(200_000);
    if (phase === 'Reading') for (let n = 0; n < 30; n++) await bench.firestore.doc(`many/${n}`).set({ text });
    bench.sandbox.control.addFault({
      method: 'RunQuery',
      ...(phase === 'Reading' ? { batchLatencyMs: 1200 } : { latencyMs: 30_000 }),
    });
    const id = await start({ storageDestinationId: bucketId });
    await expect.poll(async () => (await bench.get(`/backups/${id}`)).progress.phase).toBe(phase);
    return id;
  }

  test('is ended by its budget before it reads more than it may', async () => {
    for (let n = 0; n < 20; n++) await bench.firestore.doc(`many/${n}`).set({ n });
    const path = `/api/v1/projects/${bench.shop.projectId}`;
    await bench.app.request('PATCH', path, { ...bench.as, body: { settings: { maxReadsPerBackup: 10 } } });
    bench.sandbox.control.resetCounters();
    const failed = await bench.run();
    await bench.app.request('PATCH', path, { ...bench.as, body: { settings: { maxReadsPerBackup: null } } });
    expectFailed(failed, 'READ_BUDGET_EXCEEDED');
    expect(failed.error.details).toMatchObject({ reads: 21, budget: 10 });
    expect(bench.sandbox.control.counters().reads).toBeLessThanOrEqual(10);
  });

  test('of a large database has longer, unless the project says how long', async () => {
    expect(backupTimeoutMs(null) / 60_000).toBe(30);
    expect(backupTimeoutMs(null, 10_000_000) / 60_000).toBe(530);
    expect(backupTimeoutMs(30, 10_000_000) / 60_000).toBe(30);
    const id = await startSlowly('Reading');
    const { rows } = await asOwner(bench.app.databaseUrl, (client) =>
      client.query(
        'select extract(epoch from deadline_at - started_at)::int as seconds, documents_expected::int as documents from backups where id = $1',
        [id],
      ),
    );
    await bench.app.request('POST', `/api/v1/backups/${id}/cancel`, bench.as);
    expect(rows[0].seconds * 1000).toBe(backupTimeoutMs(null, rows[0].documents));
    expect(rows[0].seconds).toBe(31 * 60);
  });

  test.each(['Planning', 'Reading'])(
    'is ended by the timeout of its project, also while %s',
    { tags: 'long' },
    async (phase) => {
      const id = await startSlowly(phase);
      bench.app.clock.advance(32 * 60_000);
      expectFailed(await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as), 'BACKUP_TIMEOUT');
    },
  );

  test.each(['Planning', 'Reading'])(
    'is ended by its owner within seconds, also while %s, and what was written goes',
    async (phase) => {
      const id = await startSlowly(phase);
      const cancelled = await bench.app.request('POST', `/api/v1/backups/${id}/cancel`, bench.as);
      expect(cancelled.body.data, cancelled.text).toMatchObject({
        status: 'cancelled',
        error: { code: 'CANCELLED', retryable: false, advice: errorDefinition('CANCELLED').job?.advice },
      });
      const again = await bench.app.request('POST', `/api/v1/backups/${id}/cancel`, bench.as);
      expect([again.status, again.body.error.code]).toEqual([409, 'INVALID_STATE']);
      bench.sandbox.control.clearFaults();
      expect((await bench.run()).status).toBe('completed');
      const left = () => bench.app.request('GET', `/api/v1/storage-destinations/${bucketId}/orphans`, bench.as);
      await expect.poll(async () => (await left()).body.data).toEqual([]);
    },
  );
});
