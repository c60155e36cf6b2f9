// @module-tag long
import { type BackupReader, createS3Store, KeyRing, openChain, SegmentCodec } from '@holdfast/engine';
import { type S3Sandbox, sandboxS3Credential, startS3Sandbox } from '@holdfast/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { BackupBench } from '../../../testing/backup-bench.ts';
import { type CapturedBench, startCapturedBench } from '../../../testing/pitr-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';

/** A key of the customer's that comes while an increment is made: one of the two opens all that it builds on. */
let captured: CapturedBench;
let bench: BackupBench;
let s3: S3Sandbox;
let vault: string;
beforeAll(async () => {
  s3 = await startS3Sandbox({ buckets: [] });
  const settings = { region: 'us-east-1', createdAtMs: Date.now(), versioning: 'Enabled' as const, objectLock: true };
  await s3.objects.saveBucket({ ...settings, name: 'vault' });
  captured = await startCapturedBench({ OUTBOUND_ALLOWED_SUBNETS: '127.0.0.0/8' });
  bench = captured.bench;
  const place = { bucket: 'vault', endpoint: s3.endpoint, forcePathStyle: true, credentials: sandboxS3Credential };
  const objectLock = { mode: 'governance', days: 3 };
  vault = (await call('POST', '/storage-destinations', { name: 'Vault', type: 's3', ...place, objectLock })).id;
});
afterAll(async () => {
  await captured.close();
  await s3.stop();
});
afterEach(() => s3.faults.clear());

async function call(method: string, path: string, body: object) {
  const answer = await bench.app.request(method, `/api/v1${path}`, { ...bench.as, body });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body.data;
}
/** A key and no passphrase: nobody has to derive it, so that it is there while the storage still waits. */
const keyOf = (which: number) => Buffer.alloc(32, which);
const giveKey = (which: number) =>
  call('PUT', '/organizations/current/encryption-key', { key: keyOf(which).toString('base64') });

async function openedBy(which: number, backupId: string): Promise<string[]> {
  const connection = { region: 'us-east-1', endpoint: s3.endpoint, forcePathStyle: true };
  const store = await createS3Store({ kind: 's3', bucket: 'vault', credentials: sandboxS3Credential, ...connection });
  try {
    const keys = new KeyRing([{ key: keyOf(which) }]);
    const readers = await openChain({ store, backupId, keys, codec: new SegmentCodec() });
    return readers.map((reader: BackupReader) => reader.backupId);
  } finally {
    await store.close();
  }
}

/** An increment during which another key is given, at the first call of a kind to its storage. */
async function incrementWhile(operation: string, which: number) {
  const base = await bench.backUp({ storageDestinationId: vault });
  await bench.firestore.doc('users/ada').set({ which });
  s3.faults.set({ delayRate: 1, delayMsMin: 4000, operations: [operation] });
  const body = { projectId: bench.shop.projectId, type: 'incremental', storageDestinationId: vault };
  const { id } = await call('POST', '/backups', body);
  await expect.poll(() => s3.faults.counts.delays, { interval: 20 }).toBeGreaterThan(0);
  await giveKey(which);
  s3.faults.clear();
  const increment = await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as);
  expect(increment, JSON.stringify(increment.error)).toMatchObject({ status: 'completed' });
  return { base, increment };
}

test('after its changes were written, it stays with its base under the former one', async () => {
  await giveKey(1);
  await expect.poll(async () => (await captured.shown()).status).toBe('running');
  const { base, increment } = await incrementWhile('PutObject', 2);
  expect(increment).toMatchObject({ type: 'incremental', readsUsed: 0 });
  const ids = [base, increment.id];
  const { rows } = await captured.owner.query('select distinct key_id from backups where id = any($1)', [ids]);
  expect(rows).toHaveLength(1);
  expect(await openedBy(1, increment.id)).toEqual(ids);
});

test('after it was decided what it builds on, it is made under the key of that', async () => {
  await giveKey(4);
  await expect.poll(async () => (await captured.shown()).status).toBe('running');
  const base = await bench.backUp({ storageDestinationId: vault });
  await bench.firestore.doc('users/ada').set({ which: 4 });
  // Whoever begins to write waits until the other key is given.
  await captured.owner.query(
    `create function wait() returns trigger language plpgsql as
       $$ begin perform pg_advisory_xact_lock(4242); return new; end $$`,
  );
  await captured.owner.query(
    `create trigger waits before update on backups for each row
       when (new.phase = 'Writing' and old.phase <> 'Writing') execute function wait()`,
  );
  await captured.owner.query('select pg_advisory_lock(4242)');
  const body = { projectId: bench.shop.projectId, type: 'incremental', storageDestinationId: vault };
  const { id } = await call('POST', '/backups', body);
  const waiting = `select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = 4242 and not granted`;
  await expect.poll(async () => (await captured.owner.query(waiting)).rows[0].n).toBe(1);
  await giveKey(5);
  await captured.owner.query('select pg_advisory_unlock(4242)');
  await captured.owner.query('drop trigger waits on backups');
  const increment = await untilEnded(bench.app, `/api/v1/backups/${id}`, bench.as);
  expect(increment, JSON.stringify(increment.error)).toMatchObject({ status: 'completed', type: 'incremental' });
  expect(await openedBy(4, id)).toEqual([base, id]);
});

test('while its base is looked at, it becomes a full one under the new one', async () => {
  await captured.ask('POST', '/disable', {});
  const { increment } = await incrementWhile('PutObjectRetention', 3);
  expect(increment).toMatchObject({ type: 'full', warnings: [{ code: 'BECAME_FULL' }] });
  expect(await openedBy(3, increment.id)).toEqual([increment.id]);
});
