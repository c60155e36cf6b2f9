import { join } from 'node:path';
import { createLocalStore, KeyRing, openChain, SegmentCodec } from '@holdfast/engine';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';

/** The customer's key opens what was made with it, without the service and without any other key. */
let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
});
afterAll(() => bench.close());

async function call(method: string, path: string, body: object) {
  const answer = await bench.app.request(method, `/api/v1/organizations/current/encryption-key${path}`, {
    ...bench.as,
    body,
  });
  expect(answer.status, answer.text).toBe(200);
}

let changes = 0;
async function increment(): Promise<{ id: string; type: string; warnings: { code: string; message: string }[] }> {
  await bench.firestore.doc('users/ada').set({ n: changes++ });
  return bench.get(`/backups/${await bench.backUp({ type: 'incremental' })}`);
}

/** How many backups of the chain a passphrase opens by itself. */
async function openedBy(passphrase: string, backupId: string): Promise<number> {
  const store = await createLocalStore({ root: join(bench.app.folder, 'storage', bench.as.organizationId) });
  try {
    const keys = new KeyRing([{ passphrase }]);
    return (await openChain({ store, backupId, keys, codec: new SegmentCodec() })).length;
  } finally {
    await store.close();
  }
}

test('an increment never builds on a backup that the key it is made with does not open', async () => {
  await bench.startOver();
  await bench.backUp();
  await call('PUT', '', { passphrase: 'the first of our keys' });
  const first = await increment();
  expect(first).toMatchObject({ type: 'full', warnings: [{ code: 'BECAME_FULL' }] });
  expect(first.warnings[0]?.message).toContain('another key');
  expect(await openedBy('the first of our keys', first.id)).toBe(1);
  const second = await increment();
  expect(second.type).toBe('incremental');
  expect(await openedBy('the first of our keys', second.id)).toBe(2);
});

test('a rotation brings the whole chain under the new key, and increments go on', async () => {
  await call('PUT', '', { passphrase: 'the second of our keys' });
  await call('POST', '/rotate', {});
  const third = await increment();
  expect(third.type).toBe('incremental');
  await expect.poll(() => openedBy('the second of our keys', third.id).catch(() => 0), { timeout: 20_000 }).toBe(3);
});
