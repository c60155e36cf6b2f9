import { mkdir, readdir, rename, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, hasty, startBackupBench } from '../../testing/backup-bench.ts';
import { foundOrganization } from '../../testing/people.ts';

let bench: BackupBench;
let backupId: string;
/** The organization that the project is moved to. */
let there: string;

beforeAll(async () => {
  bench = await startBackupBench(hasty);
  await bench.firestore.doc('users/ada').set({ n: 1 });
  backupId = await bench.backUp();
  there = await foundOrganization(bench.app, bench.shop.owner);
});
afterAll(() => bench.close());

const own = (...path: string[]) => join(bench.app.folder, 'storage', bench.as.organizationId, ...path);
const arrived = () => readdir(join(bench.app.folder, 'storage', there), { recursive: true }).catch(() => []);
const move = () => {
  const body = { organizationId: there };
  return bench.app.request('PATCH', `/api/v1/projects/${bench.shop.projectId}`, { ...bench.as, body });
};

test('a project whose folder is away is not moved, and the answer says why', async () => {
  await rename(own(), own('..', 'away'));
  const { status, body } = await move();
  expect([status, body.error.code, body.error.message]).toEqual([
    502,
    'STORAGE_UNAVAILABLE',
    expect.stringContaining('is gone: it was removed, or the disk it lies on is not mounted.'),
  ]);
  await rename(own('..', 'away'), own());
});

test('a link in place of a folder of its backups is not followed into the other organization', async () => {
  const theirs = join(bench.app.folder, 'theirs');
  await mkdir(theirs);
  await mkdir(join(theirs, backupId));
  for (const place of [theirs, join(theirs, backupId)]) await writeFile(join(place, 'secret'), 'secret');
  for (const folder of [own('backups'), own('backups', backupId)]) {
    await rename(folder, own('aside'));
    await symlink(theirs, folder);
    const { status, text, body } = await move();
    expect([status, body.error?.code], text).toEqual([502, 'STORAGE_PERMISSION_DENIED']);
    expect((await arrived()).filter((path) => path.endsWith('secret'))).toEqual([]);
    await unlink(folder);
    await rename(own('aside'), folder);
  }
  const moved = await move();
  expect(moved.status, moved.text).toBe(200);
  expect((await arrived()).some((path) => path.endsWith('/manifest'))).toBe(true);
});
