import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillFast, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ProgressBar } from './progress.ts';
import { holdfast as runHoldfast } from './testing.ts';

let folder: string;
let sandbox: Awaited<ReturnType<typeof startFirestoreSandbox>>;
const shop = { project: 'shop', database: '(default)' };

async function holdfast(...words: string[]) {
  vi.stubEnv('FIRESTORE_EMULATOR_HOST', sandbox.address);
  try {
    const key = ['--key-file', join(folder, 'key')];
    return await runHoldfast('local', ...words, ...(words[0] === 'keygen' ? [] : ['--project', 'shop', ...key]));
  } finally {
    vi.unstubAllEnvs();
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-local-restore-'));
  sandbox = await startFirestoreSandbox();
  await holdfast('keygen', join(folder, 'key'));
});
afterAll(async () => {
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true });
});

test('* beside named collections is refused: it would have backed up the named ones alone', async () => {
  const store = ['--store', join(folder, 'all')];
  const refused = await holdfast('backup', ...store, '-c', '*', 'users');
  expect([refused.code, refused.error]).toEqual([2, expect.stringContaining('means every collection')]);
});

test('a restore with --delete-extra that goes on after a stop deletes nothing that was made meanwhile', async () => {
  const store = ['--store', join(folder, 'extra')];
  const database = sandbox.control.database(shop);
  fillFast(database, { collection: 'a', documents: 600 });
  expect((await holdfast('backup', ...store)).code).toBe(0);
  fillFast(database, { collection: 'b', documents: 1 });
  const restore = ['restore', 'latest', ...store, '--delete-extra', '--yes'];
  const bar = vi.spyOn(ProgressBar.prototype, 'update').mockImplementation(() => void process.emit('SIGINT'));
  const stopped = await holdfast(...restore);
  bar.mockRestore();
  const [, after, began] = /--after '(\S+)' --began (\S+) continues/.exec(stopped.error) as unknown as string[];
  // Documents of this collection are not in the backup: before the first run they were extra, after it they are somebody's work.
  fillFast(database, { collection: 'made', documents: 1 });
  const refused = await holdfast(...restore, '--after', after!);
  expect([refused.code, refused.error]).toEqual([2, expect.stringContaining('--began')]);
  const rest = await holdfast(...restore, '--after', after!, '--began', began!);
  expect(rest.code, rest.error).toBe(0);
  expect(database.documentCount).toBe(601);
});

test('a mistyped --exclude is refused: what should be left alone would be overwritten and deleted', async () => {
  const store = ['--store', join(folder, 'left alone')];
  const database = sandbox.control.database(shop);
  expect((await holdfast('backup', ...store)).code).toBe(0);
  fillFast(database, { collection: 'sessions', documents: 3 });
  const before = database.documentCount;
  const restore = ['restore', 'latest', ...store, '--delete-extra', '--yes', '--exclude'];
  const refused = await holdfast(...restore, 'sesions');
  expect([refused.code, refused.error]).toEqual([5, expect.stringContaining('holds anything in sesions.')]);
  expect((await holdfast(...restore, 'sessions')).code).toBe(0);
  expect(database.documentCount).toBe(before);
});
