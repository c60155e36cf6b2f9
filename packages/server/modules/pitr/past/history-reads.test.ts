// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';

let bench: BackupBench;
let s3: S3Sandbox;

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['logs'] });
  bench = await startBackupBench({ PITR_SEGMENT_SECONDS: '0.1', OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  bench.sandbox.control.loadSample({ project: 'shop', database: '(default)' }, { documents: 500, seed: 3 });
});
afterAll(async () => {
  await bench.close();
  await s3.stop();
});

const ask = async (method: string, path: string, body?: object) => {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
};
const pitr = (rest = '') => `/projects/${bench.shop.projectId}/pitr${rest}`;

test('the history of one document reads at most four objects, however many segments the log has', async () => {
  const destination = await ask('POST', '/storage-destinations', {
    name: 'Bucket',
    type: 's3',
    bucket: 'logs',
    endpoint: s3.endpoint,
    forcePathStyle: true,
    credentials: sandboxS3Credential,
  });
  await bench.firestore.doc('people/ada').set({ version: 0 });
  await ask('POST', pitr('/enable'), { storageDestinationId: destination.id });
  await expect.poll(async () => (await ask('GET', pitr())).status).toBe('running');
  for (let turn = 1; turn <= 12; turn += 1) {
    await bench.firestore.doc('people/bob').set({ turn });
    if (turn % 6 === 3) await bench.firestore.doc('people/ada').set({ version: turn });
    await sleep(150);
  }
  const versions = async () => ask('GET', pitr('/history?document=people/ada'));
  await expect.poll(async () => (await versions()).length).toBe(3);
  // Nothing else asks the bucket for anything now.
  await ask('POST', pitr('/disable'));
  await sleep(500);
  s3.faults.clear();
  expect((await versions()).map(({ fields }: { fields: object }) => fields)).toEqual([
    { version: { integerValue: '9' } },
    { version: { integerValue: '3' } },
    { version: { integerValue: '0' } },
  ]);
  expect(s3.faults.counts.requests).toBeGreaterThan(2);
  expect(s3.faults.counts.requests).toBeLessThanOrEqual(4);
});
