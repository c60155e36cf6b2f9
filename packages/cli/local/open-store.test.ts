import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from './open-store.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-address-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each([
  'S3://bucket/backups',
  's3:/bucket/backups',
  's3:bucket',
  'gs:bucket',
  's3://bucket/pre#fix',
  'FILE:///tmp',
])('%s is no folder of that name, in which nobody would look for the backups', async (address) => {
  const before = await readdir('.');
  await expect(openStore(address, { isMade: true })).rejects.toThrow('is no address of a store');
  expect(await readdir('.')).toEqual(before);
});

test.each(['file://holdfast-backups', 'file://./holdfast-backups', 'file:///tmp/holdfast?backups'])(
  '%s is not taken for another folder',
  async (address) => {
    await expect(openStore(address, { isMade: true })).rejects.toThrow('is no folder');
  },
);

test('a folder may be called like a store, and be given with its whole path', async () => {
  for (const address of [join(folder, 's3:bucket'), `file://${join(folder, 'a b')}`]) {
    const store = await openStore(address, { isMade: true });
    await store.put('key', new Uint8Array(1));
    await store.close();
  }
  expect((await readdir(folder)).toSorted()).toEqual(['a b', 's3:bucket']);
});
