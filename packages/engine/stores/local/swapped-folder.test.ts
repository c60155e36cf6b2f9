import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createLocalStore } from './local-store.ts';

const parent = mkdtempSync(join(tmpdir(), 'holdfast-swapped-'));
const [root, outside] = [join(parent, 'root'), join(parent, 'outside')];
beforeEach(() => {
  for (const folder of [root, outside]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
  }
});
afterAll(() => rmSync(parent, { recursive: true }));
const openStore = () => createLocalStore({ root, retry: { attemptsMax: 1 } });

/** However slow the machine is. */
const triesMin = 50;

/** One name that leads into the store and out of it by turns, as fast as a thread can change it. */
const swapping = `
  const { renameSync, symlinkSync } = require('node:fs');
  const { workerData: { root, outside, flag } } = require('node:worker_threads');
  const lead = (target) => {
    symlinkSync(target, root + '/next');
    renameSync(root + '/next', root + '/f');
  };
  while (Atomics.load(flag, 0) === 0) {
    lead(root + '/inside');
    lead(outside);
  }`;

/** Does it again and again while the folder `f` leads into the store and out of it by turns. */
async function whileSwapped(attempt: (index: number) => Promise<unknown>): Promise<void> {
  mkdirSync(join(root, 'inside'));
  symlinkSync(join(root, 'inside'), join(root, 'f'));
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const swapper = new Worker(swapping, { eval: true, workerData: { root, outside, flag } });
  let tries = 0;
  try {
    const startedMs = performance.now();
    for (; tries < triesMin || performance.now() - startedMs < 1500; tries += 1) await attempt(tries);
  } finally {
    Atomics.store(flag, 0, 1);
    await new Promise((resolve) => swapper.once('exit', resolve));
  }
}

const linux = test.runIf(process.platform === 'linux');

linux('a folder that becomes a link out of the store between the look and the deed leads nobody there', async () => {
  writeFileSync(join(outside, 'key'), 'secret');
  const store = await openStore();
  const reads: string[] = [];
  await whileSwapped(async (index) => {
    await store.put('f/key', Buffer.from('mine')).catch(() => undefined);
    await store.get('f/key').then(
      (found) => reads.push(Buffer.from(found).toString()),
      () => undefined,
    );
    if (index % 2 === 0) await store.delete(['f/key']).catch(() => undefined);
  });
  expect(reads.length).toBeGreaterThan(0);
  expect(reads.filter((text) => text !== 'mine')).toEqual([]);
  expect(readdirSync(outside)).toEqual(['key']);
  expect(readFileSync(join(outside, 'key'), 'utf8')).toBe('secret');
});

linux('no folder is made behind such a link, and nothing behind it is told of', async () => {
  writeFileSync(join(outside, 'theirs'), 'secret');
  const store = await openStore();
  const told: string[] = [];
  const list = async () => {
    for await (const { key } of store.list('f/')) told.push(key);
  };
  await whileSwapped(async (index) => {
    await store.put(`f/deep-${index}/key`, Buffer.from('mine')).catch(() => undefined);
    const info = await store.head('f/theirs').catch(() => undefined);
    if (info) told.push(info.key);
    if (index % 8 === 0) await list().catch(() => undefined);
  });
  expect(readdirSync(outside)).toEqual(['theirs']);
  expect(told.filter((key) => key.endsWith('theirs'))).toEqual([]);
});

test('where the folder of unfinished files leads out of the store, nothing there is swept', async () => {
  const theirs = join(outside, 'theirs');
  writeFileSync(theirs, 'old');
  const longAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
  utimesSync(theirs, longAgo, longAgo);
  symlinkSync(outside, join(root, '.holdfast-tmp'));
  const store = await openStore();
  expect(existsSync(theirs)).toBe(true);
  await expect(store.put('key', Buffer.from('mine'))).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  expect(readdirSync(outside)).toEqual(['theirs']);
});

linux('a pipe in place of a file is not waited for', async () => {
  const pipe = join(root, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const store = await openStore();
  const reading = store.get('pipe').catch((error: unknown) => error);
  const found = await Promise.race([reading, sleep(2000, 'still waits')]);
  // Whoever waits for somebody at the other end has met them now.
  closeSync(openSync(pipe, 'r+'));
  expect(found).toMatchObject({ code: 'STORAGE_NOT_FOUND' });
});
