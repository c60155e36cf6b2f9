import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';

let s3: S3Sandbox;
let bench: BackupBench;
let bucketId: string;
beforeAll(async () => {
  bench = await startBackupBench({ ...hasty, OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bucketId = await bench.addBucket(s3);
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});
beforeEach(() => bench.startOver());

async function send(method: 'POST' | 'PATCH', path: string, body: object = {}): Promise<void> {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, body });
  expect(answer.status, answer.text).toBeLessThan(300);
}

const statusOf = async (id: string) => (await bench.get(`/backups/${id}`)).verification?.status;
const frozen = async () => (await bench.get(`/projects/${bench.shop.projectId}`)).retentionFrozen;

async function verify(id: string) {
  await send('POST', `/backups/${id}/verify`);
  await expect.poll(() => statusOf(id)).toMatch(/passed|failed/);
  return bench.get(`/backups/${id}`);
}

async function drill(id: string): Promise<{ status: string; error: { code: string } | null }> {
  await send('POST', `/backups/${id}/drill`);
  const last = async () => (await bench.get(`/backups/${id}/drills`))[0];
  await expect.poll(async () => (await last()).status).toMatch(/completed|failed/);
  return last();
}

describe('a storage that lets nothing be read', () => {
  test('because its key is wrong proves nothing: no anomaly, no frozen retention; with the right key it is verified again', {
    tags: 'long',
  }, async () => {
    const id = await bench.backUp({ storageDestinationId: bucketId });
    const wrong = { credentials: { ...sandboxS3Credential, secretAccessKey: 'another-secret-than-the-right-one' } };
    await send('PATCH', `/storage-destinations/${bucketId}`, wrong);
    expect(await verify(id)).toMatchObject({
      anomaly: null,
      verification: { status: 'failed', errors: [{ code: 'STORAGE_PERMISSION_DENIED' }] },
    });
    expect(await drill(id)).toMatchObject({ status: 'failed', error: { code: 'STORAGE_PERMISSION_DENIED' } });
    expect([await frozen(), (await bench.get(`/backups/${id}`)).anomaly]).toEqual([null, null]);
    await send('PATCH', `/storage-destinations/${bucketId}`, { credentials: sandboxS3Credential });
    await expect.poll(() => statusOf(id)).toBe('passed');
  });

  test.each([
    ['a look', () => send('POST', `/storage-destinations/${bucketId}/test`)],
    ['a backup', () => bench.backUp({ storageDestinationId: bucketId })],
  ])(
    'because it is away proves nothing either; once %s found it back it is verified again',
    { tags: 'long' },
    async (_, find) => {
      const id = await bench.backUp({ storageDestinationId: bucketId });
      s3.faults.set({ errorRate: 1 });
      const { verification, anomaly } = await verify(id);
      await send('POST', `/storage-destinations/${bucketId}/test`);
      s3.faults.clear();
      expect(verification).toMatchObject({ status: 'failed', errors: [{ code: 'STORAGE_UNAVAILABLE' }] });
      expect([anomaly, await frozen()]).toEqual([null, null]);
      await find();
      await expect.poll(() => statusOf(id)).toBe('passed');
    },
  );
});

test('a manifest that is gone from a storage that answers is damage', async () => {
  const id = await bench.backUp();
  await rm(join(bench.app.folder, 'storage', bench.as.organizationId, 'backups', id, 'manifest'));
  expect(await verify(id)).toMatchObject({
    anomaly: { reason: 'verification_failed' },
    verification: { errors: [{ code: 'INTEGRITY_ERROR' }] },
  });
  expect(await frozen()).toMatchObject({ backupId: id });
});
