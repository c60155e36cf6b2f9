import { type FileHandle, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StartFailure } from '../start-failure.ts';
import { loadKeyring, renewKeyFile } from './master-key.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-key-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const load = () => loadKeyring({ HOLDFAST_DATA: folder, MASTER_KEYS_PREVIOUS: [] });

test('leftovers of a killed process with the same pid stop neither a later start nor a rotation', async () => {
  // In containers every process has the same pid.
  for (const name of ['master.key', 'master.key.previous', 'master.key.new'])
    await writeFile(join(folder, `${name}.${process.pid}.tmp`), 'half a k');
  const sealed = (await load()).seal('a secret', 'here');
  await renewKeyFile(folder);
  expect((await load()).openText(sealed, 'here')).toBe('a secret');
});

test('replicas that start together on one volume have one key, and leave no drafts of it', async () => {
  const keyrings = await Promise.all(Array.from({ length: 8 }, load));
  const sealed = keyrings[0]!.seal('a secret', 'here');
  for (const keyring of keyrings) expect(keyring.openText(sealed, 'here')).toBe('a secret');
  expect(await readdir(folder)).toEqual(['master.key']);
});

test('a power cut loses no key that is in use: each file name is on the disk before the next step', async () => {
  const flushed: (string | undefined)[][] = [];
  const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => undefined);
  const probe = await open(folder);
  const handles: FileHandle = Object.getPrototypeOf(probe);
  await probe.close();
  const { sync } = handles;
  const spy = vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
    if ((await this.stat()).isDirectory()) flushed.push([await read('master.key'), await read('master.key.previous')]);
    await sync.call(this);
  });
  try {
    await load();
    const first = await read('master.key');
    expect(flushed.at(-1)).toEqual([first, undefined]);
    await renewKeyFile(folder);
    const second = await read('master.key');
    expect(second).not.toBe(first);
    expect(flushed).toContainEqual([first, first]);
    expect(flushed.at(-1)).toEqual([second, first]);
  } finally {
    spy.mockRestore();
  }
});

test('a damaged key is reported in one sentence, and left unchanged', async () => {
  const path = join(folder, 'master.key');
  await writeFile(path, 'half a k');
  const refused = expect(load()).rejects;
  await refused.toThrow(StartFailure);
  await refused.toThrow(
    `${path} does not hold 32 bytes in base64; restore it from a copy, sealed secrets depend on it.`,
  );
  expect(await readFile(path, 'utf8')).toBe('half a k');
});
