import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { foundOrganization, signUp } from '../../../testing/people.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

type Someone = { token: string; organizationId: string };

let app: TestApp;
let ada: Someone;
let bob: Someone;

beforeAll(async () => {
  app = await startTestApp({ STORAGE_RETRY_ATTEMPTS: '2' });
  const someone = async (email: string): Promise<Someone> => {
    const owner = await signUp(app, email);
    return { token: owner.token, organizationId: await foundOrganization(app, owner) };
  };
  [ada, bob] = [await someone('ada@example.com'), await someone('bob@example.com')];
});
afterAll(() => app.close());

const own = (who: Someone, ...path: string[]) => join(app.folder, 'storage', who.organizationId, ...path);
const add = (who: Someone, path: string) =>
  app.request('POST', '/api/v1/storage-destinations', { ...who, body: { name: 'Folder', type: 'local', path } });

test('one path in two organizations is two folders, each below the own one', async () => {
  const [hers, his] = [await add(ada, 'shared'), await add(bob, 'shared')];
  expect([hers.body.data?.status, his.body.data?.status], hers.text).toEqual(['connected', 'connected']);
  const stray = 'backups/bkp_01jd0000000000000000000000/segments/00000000000000000000000000000001';
  await mkdir(own(ada, 'shared', stray, '..'), { recursive: true });
  await writeFile(own(ada, 'shared', stray), 'sealed');
  const orphans = async (who: Someone, id: string) =>
    (await app.request('GET', `/api/v1/storage-destinations/${id}/orphans`, who)).body.data.length;
  expect(await orphans(ada, hers.body.data.id)).toBe(1);
  expect(await orphans(bob, his.body.data.id)).toBe(0);
});

test("no path leads to another organization's folder, to the data folder or to the master key", async () => {
  const paths = [
    `../${ada.organizationId}/shared`,
    `x/../../${ada.organizationId}`,
    `../../storage/${ada.organizationId}`,
    own(ada, 'shared'),
    join(app.folder, 'storage'),
    app.folder,
    join(app.folder, 'master.key'),
    'master.key',
    'master.key.previous',
    '../../master.key',
    '..',
    '.',
  ];
  for (const path of paths) {
    const answer = await add(bob, path);
    expect([answer.status, answer.body.error?.code, answer.body.error?.details?.field], path).toEqual([
      400,
      'VALIDATION_ERROR',
      'path',
    ]);
  }
  expect((await add(bob, '/etc/disk')).body.error.message).toContain(
    "below the organization's own, named from there, such as disk",
  );
  // Spelled from the data folder on, a foreign folder is a name like any other below the own one.
  const named = await add(bob, `storage/${ada.organizationId}/shared`);
  expect(named.status, named.text).toBe(201);
  expect((await stat(own(bob, 'storage', ada.organizationId, 'shared'))).isDirectory()).toBe(true);
});

test('a link out of the own folder is not followed, and no error tells where the data folder lies', async () => {
  const before = await readdir(app.folder);
  await mkdir(own(bob), { recursive: true });
  await symlink(app.folder, own(bob, 'door'));
  await symlink(own(ada), own(bob, 'window'));
  await writeFile(own(bob, 'file'), '');
  for (const path of ['door', 'door/deep', 'window', 'window/shared', 'file', 'file/deep']) {
    const answer = await add(bob, path);
    const id = answer.body.data?.id;
    expect([answer.status, answer.body.data?.status], answer.text).toEqual([201, 'error']);
    const test = await app.request('POST', `/api/v1/storage-destinations/${id}/test`, bob);
    const orphans = await app.request('GET', `/api/v1/storage-destinations/${id}/orphans`, bob);
    expect(test.body.data.ok).toBe(false);
    expect(orphans.status).not.toBe(200);
    for (const { text } of [answer, test, orphans]) expect(text).not.toContain(app.folder);
    if (!path.startsWith('file')) expect(answer.body.data.error.code, path).toBe('STORAGE_PERMISSION_DENIED');
  }
  expect(await readdir(app.folder)).toEqual(before);
});
