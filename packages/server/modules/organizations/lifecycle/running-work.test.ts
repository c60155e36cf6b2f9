import { setTimeout as sleep } from 'node:timers/promises';
import { Firestore } from '@google-cloud/firestore';
import { type S3Sandbox, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../../testing/backup-bench.ts';
import { asOwner } from '../../../testing/people.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

let bench: BackupBench;
let s3: S3Sandbox;
let staging: Firestore;
let stagingId: string;
let backupId: string;
/** More than the ramp-up of writes allows in the seconds that the tests watch. */
const documents = 6000;

beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: ['backups'] });
  bench = await startBackupBench({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  staging = new Firestore({ projectId: 'staging' });
  for (let from = 0; from < documents; from += 500) {
    const batch = bench.firestore.batch();
    for (let n = from; n < from + 500; n++) batch.set(bench.firestore.doc(`users/${n}`), { n });
    await batch.commit();
  }
  const connection = { type: 'emulator', host: bench.sandbox.address };
  const settings = { writeRampUp: true };
  stagingId = (await post('/projects', { name: 'Staging', sourceProjectId: 'staging', connection }, 201)).id;
  await bench.app.request('PATCH', `/api/v1/projects/${stagingId}`, { ...bench.as, body: { settings } });
  backupId = await bench.backUp({ storageDestinationId: await bench.addBucket(s3) });
});
afterAll(async () => {
  await staging.terminate();
  await bench.close();
  await s3.stop();
});
beforeEach(() => bench.sandbox.control.clear({ project: 'staging', database: '(default)' }));
afterEach(() => s3.faults.clear());

async function post(path: string, body: object, status = 202) {
  const answer = await bench.app.request('POST', `/api/v1${path}`, { ...bench.as, body });
  expect(answer.status, answer.text).toBe(status);
  return answer.body.data;
}

const written = async () => (await staging.collection('users').count().get()).data().count;
const untilWriting = () => expect.poll(written).toBeGreaterThan(0);

async function deleteOrganization(): Promise<void> {
  const { name } = await bench.get('/organizations/current');
  await post('/organizations/current/delete', { confirmName: name }, 200);
}

const recoverOrganization = () => post(`/organizations/${bench.as.organizationId}/recover`, {}, 200);

/** Long enough for a worker to check whether its work is still wanted. */
const lookedAtMs = 2500;

/** Expects that nothing more is written into the target. */
async function expectStill(): Promise<void> {
  await sleep(lookedAtMs);
  const before = await written();
  expect(before).toBeLessThan(documents);
  await sleep(lookedAtMs);
  expect(await written()).toBe(before);
}

async function statusOf(table: string, id: string, column = 'status'): Promise<string> {
  const { rows } = await asOwner(bench.app.databaseUrl, (client) =>
    client.query<{ status: string }>(`select ${column} as status from ${table} where id = $1`, [id]),
  );
  return rows[0]?.status ?? 'gone';
}

const isSlow = { delayRate: 1, delayMsMin: 1500, delayMsMax: 1500 };

describe('in a deleted organization', () => {
  test('a restore stops writing, and continues there after the organization is recovered', async () => {
    const target = { targetProjectId: stagingId, options: { safetyBackup: false } };
    const { id } = await post('/backups/restore', { backupId, ...target });
    await untilWriting();
    await deleteOrganization();
    await expectStill();
    expect(await statusOf('restores', id)).toBe('running');
    await recoverOrganization();
    const restore = await untilEnded(bench.app, `/api/v1/backups/restore/${id}`, bench.as);
    expect(restore).toMatchObject({ status: 'completed', error: null });
    expect(await written()).toBe(documents);
  });

  test('a drill stops writing into its target, and continues after the recovery', { tags: 'long' }, async () => {
    const { id } = await post(`/backups/${backupId}/drill`, { targetProjectId: stagingId });
    await untilWriting();
    await deleteOrganization();
    await expectStill();
    expect(await statusOf('drills', id)).toBe('running');
    await recoverOrganization();
    await expect.poll(() => statusOf('drills', id)).toBe('completed');
    expect(await written()).toBe(documents);
  });

  test('a verification and a rescan end only after the recovery', { tags: 'long' }, async () => {
    s3.faults.set({ ...isSlow, operations: ['GetObject'] });
    const verification = () => statusOf('backups', backupId, `verification->>'status'`);
    await post(`/backups/${backupId}/verify`, {});
    const { storageDestination } = await bench.get(`/backups/${backupId}`);
    const { id } = await post(`/storage-destinations/${storageDestination.id}/rescan`, {});
    await expect.poll(() => statusOf('storage_tasks', id)).toBe('running');
    await deleteOrganization();
    await sleep(lookedAtMs);
    s3.faults.clear();
    await sleep(3 * lookedAtMs);
    expect([await verification(), await statusOf('storage_tasks', id)]).toEqual(['running', 'running']);
    await recoverOrganization();
    await expect.poll(verification).toBe('passed');
    await expect.poll(() => statusOf('storage_tasks', id)).toBe('completed');
  });

  test('paused work does not outlive the purge', { tags: 'long' }, async () => {
    const { id } = await post(`/backups/${backupId}/drill`, { targetProjectId: stagingId });
    await untilWriting();
    await deleteOrganization();
    await expectStill();
    bench.app.clock.advance(31 * 86_400_000);
    await bench.app.tasks.runNow('purge organizations');
    expect([await statusOf('drills', id), await statusOf('backups', backupId)]).toEqual(['gone', 'gone']);
  });
});
