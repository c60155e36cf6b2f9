// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../../testing/backup-bench.ts';
import { untilEnded } from '../../../testing/protected-project.ts';
import type { TestResponse } from '../../../testing/test-app.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.startOver();
});
afterAll(() => bench.close());

const call = (method: string, path: string, body?: object) =>
  bench.app.request(method, `/api/v1${path}`, { ...bench.as, ...(body ? { body } : {}) });

async function addFolder(name: string, path = `storage/${name}`): Promise<string> {
  const created = await call('POST', '/storage-destinations', { name, type: 'local', path });
  expect([created.status, created.body.data?.status], created.text).toEqual([201, 'connected']);
  return created.body.data.id;
}

const migrate = (from: string, to: string) =>
  call('POST', `/storage-destinations/${from}/migrate`, { toStorageDestinationId: to });

/** The task, as it ended. */
const ended = ({ headers }: TestResponse) => untilEnded(bench.app, headers.get('location') as string, bench.as);

async function verified(id: string): Promise<string> {
  expect((await call('POST', `/backups/${id}/verify`)).status).toBe(202);
  const status = async () => (await bench.get(`/backups/${id}`)).verification.status;
  await expect.poll(status).not.toBe('running');
  return status();
}

test('of two simultaneous migrations in opposite directions one is refused, and no backup is lost', {
  timeout: 120_000,
}, async () => {
  const [first, second] = [await addFolder('first'), await addFolder('second')];
  const ids = [await bench.backUp({ storageDestinationId: first })];
  // So that what comes from the first has arrived before the other way is done.
  for (let n = 0; n < 4; n++) ids.push(await bench.backUp({ storageDestinationId: second }));
  const { useLocks } = bench.app.platform.database;
  for (let round = 0; round < 3; round++) {
    // What leaves the first place is removed there only when the other migration has done all of its work.
    const endReading = await useLocks.hold(ids.map((id) => `${id} in ${first}`));
    const [there, back] = await Promise.all([migrate(first, second), migrate(second, first)]);
    if (back.status === 202) await ended(back);
    await endReading();
    if (there.status === 202) await ended(there);
    for (const id of ids) expect(await verified(id)).toBe('passed');
    expect([there.status, back.status].toSorted()).toEqual([202, 409]);
  }
});

test('no rescan links what a migration is about to remove, also not through another record of the same place', async () => {
  const [third, fourth] = [await addFolder('third'), await addFolder('fourth')];
  const mirror = await addFolder('mirror', 'storage/third');
  const id = await bench.backUp({ storageDestinationId: third });
  const endReading = await bench.app.platform.database.useLocks.hold([`${id} in ${third}`]);
  const moving = await migrate(third, fourth);
  const places = async () =>
    (await bench.get(`/backups/${id}`)).copies.map(
      (copy: { storageDestinationId: string }) => copy.storageDestinationId,
    );
  await expect.poll(places).toEqual([fourth]);
  expect((await migrate(mirror, fourth)).body.error.code).toBe('RESOURCE_IN_USE');
  const rescan = await call('POST', `/storage-destinations/${mirror}/rescan`);
  await sleep(1500);
  await endReading();
  expect((await ended(moving)).result).toMatchObject({ copied: 1, removed: 1 });
  expect((await ended(rescan)).result).toMatchObject({ found: 0, relinked: 0 });
  expect(await places()).toEqual([fourth]);
});
