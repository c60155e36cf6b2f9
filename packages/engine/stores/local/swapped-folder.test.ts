import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createLocalStore } from './local-store.ts';

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

test.runIf(process.platform === 'linux')(
  'a folder that becomes a link out of the store between the look and the deed leads nobody there',
  async () => {
    const parent = mkdtempSync(join(tmpdir(), 'holdfast-swapped-'));
    onTestFinished(() => rmSync(parent, { recursive: true }));
    const [root, outside] = [join(parent, 'root'), join(parent, 'outside')];
    mkdirSync(join(root, 'inside'), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(outside, 'key'), 'secret');
    symlinkSync(join(root, 'inside'), join(root, 'f'));
    const store = await createLocalStore({ root, retry: { attemptsMax: 1 } });
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const swapper = new Worker(swapping, { eval: true, workerData: { root, outside, flag } });
    const reads: string[] = [];
    let tries = 0;
    try {
      const startedMs = performance.now();
      for (; tries <= triesMin || performance.now() - startedMs < 1500; tries += 1) {
        await store.put('f/key', Buffer.from('mine')).catch(() => undefined);
        await store.get('f/key').then(
          (found) => reads.push(Buffer.from(found).toString()),
          () => undefined,
        );
        if (tries % 2 === 0) await store.delete(['f/key']).catch(() => undefined);
      }
    } finally {
      Atomics.store(flag, 0, 1);
      await new Promise((resolve) => swapper.once('exit', resolve));
    }
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.filter((text) => text !== 'mine')).toEqual([]);
    expect(readdirSync(outside)).toEqual(['key']);
    expect(readFileSync(join(outside, 'key'), 'utf8')).toBe('secret');
  },
);
