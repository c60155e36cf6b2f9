import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BlobStore, isEngineError } from '../../ports/index.ts';
import { temporaryFolder } from './durable-file.ts';
import { createLocalStore } from './local-store.ts';

const bytes = new TextEncoder().encode('content');

test('a folder that vanishes under an open store is told and not made anew', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-vanished-'));
  const root = join(parent, 'root');
  const vanished = await createLocalStore({ root, retry: { attemptsMax: 1 } });
  rmSync(root, { recursive: true });
  for (const options of [{}, { ifAbsent: true }])
    await expect(vanished.put('a/b/c', Buffer.from('x'), options)).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    });
  await expect(vanished.head('a/b/c')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  await expect(vanished.list('a/')[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
  });
  expect(existsSync(root)).toBe(false);
  rmSync(parent, { recursive: true });
});

describe('a local store', () => {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-local-'));
  const root = join(parent, 'root');
  const outside = join(parent, 'outside');
  let store: BlobStore;
  beforeAll(async () => {
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret'), 'secret');
    store = await createLocalStore({ root, retry: { attemptsMax: 2, delayMsMin: 1, delayMsMax: 2 } });
  });
  afterAll(() => rmSync(parent, { recursive: true }));

  const failure = (promise: Promise<unknown>) =>
    promise.then(
      () => 'none',
      (error) => (isEngineError(error) ? error.code : String(error)),
    );

  test('keeps each object as a file of its name, and nothing beside it', async () => {
    await store.put('a/b/c.seg', bytes);
    expect(readFileSync(join(root, 'a/b/c.seg'), 'utf8')).toBe('content');
    expect(readdirSync(join(root, temporaryFolder))).toEqual([]);
  });

  test('never follows a link out of its folder, neither to read nor to write nor to list', async () => {
    symlinkSync(outside, join(root, 'door'));
    symlinkSync(join(outside, 'secret'), join(root, 'window'));
    expect(await failure(store.get('door/secret'))).toBe('VALIDATION_ERROR');
    expect(await failure(store.put('door/new', bytes))).toBe('VALIDATION_ERROR');
    expect(await failure(store.put('door/deep/new', bytes))).toBe('VALIDATION_ERROR');
    expect(await failure(store.delete(['door/secret']))).toBe('VALIDATION_ERROR');
    expect(await failure(store.get('window'))).not.toBe('none');
    expect(await store.head('window')).toBeUndefined();
    const listed = async (prefix: string) => {
      const keys: string[] = [];
      for await (const { key } of store.list(prefix)) keys.push(key);
      return keys;
    };
    expect(await listed('')).toEqual(['a/b/c.seg']);
    expect(await failure(listed('door/'))).toBe('VALIDATION_ERROR');
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(existsSync(join(outside, 'secret'))).toBe(true);
  });

  test('replacing a link by a put replaces the link, not what it points at', async () => {
    symlinkSync(join(outside, 'secret'), join(root, 'linked'));
    await store.put('linked', bytes);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret');
    expect(Buffer.from(await store.get('linked')).toString()).toBe('content');
  });

  test('its own working folder is no place for keys', async () => {
    expect(await failure(store.put(`${temporaryFolder}/x`, bytes))).toBe('VALIDATION_ERROR');
    expect(await failure(store.get(`${temporaryFolder}/x`))).toBe('VALIDATION_ERROR');
  });

  test('a key that is a folder of others is refused clearly', async () => {
    expect(await failure(store.put('a/b', bytes))).toBe('VALIDATION_ERROR');
    expect(await failure(store.put('a/b/c.seg/d', bytes))).toBe('VALIDATION_ERROR');
    expect(await store.head('a/b')).toBeUndefined();
  });

  test('what dead processes left unfinished is swept when it is an hour old, and a dead lock does not block for ever', {
    tags: 'long',
  }, async () => {
    const old = new Date(Date.now() - 61 * 60 * 1000);
    for (const name of ['abandoned', 'fresh']) writeFileSync(join(root, temporaryFolder, name), 'half');
    utimesSync(join(root, temporaryFolder, 'abandoned'), old, old);
    await createLocalStore({ root });
    expect(readdirSync(join(root, temporaryFolder))).toEqual(['fresh']);
    const { etag } = await store.put('locked-by-the-dead', bytes);
    const { createHash } = await import('node:crypto');
    const name = `${createHash('sha256').update('locked-by-the-dead').digest('hex')}.lock`;
    writeFileSync(join(root, temporaryFolder, name), '');
    await store.put('locked-by-the-dead', bytes, { ifMatch: etag });
  });
});
