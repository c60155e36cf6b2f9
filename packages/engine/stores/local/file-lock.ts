import { createHash } from 'node:crypto';
import { open, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AttemptError } from '../attempt.ts';
import { errorCode } from './durable-file.ts';

const waitMsMax = 20_000;
/** A holder needs milliseconds. If the lock file did not change for this long, its holder has died. */
const staleMs = 5000;

/** Runs one call at a time per key, across all processes that share the folder for temporary files. */
export async function withFileLock<Result>(folder: string, key: string, run: () => Promise<Result>): Promise<Result> {
  const path = join(folder, `${createHash('sha256').update(key).digest('hex')}.lock`);
  await acquire(path, key);
  try {
    return await run();
  } finally {
    await unlink(path).catch(() => {});
  }
}

async function acquire(path: string, key: string): Promise<void> {
  const startedAtMs = performance.now();
  let watched = { mark: '', sinceMs: startedAtMs };
  while (performance.now() - startedAtMs < waitMsMax) {
    try {
      await (await open(path, 'wx')).close();
      return;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const stats = await stat(path, { bigint: true }).catch(() => undefined);
    const mark = stats ? `${stats.ino}-${stats.mtimeNs}` : '';
    if (mark !== watched.mark) watched = { mark, sinceMs: performance.now() };
    if (mark !== '' && performance.now() - watched.sinceMs > staleMs) await unlink(path).catch(() => {});
    else await sleep(2 + Math.random() * 10);
  }
  throw new AttemptError('STORAGE_UNAVAILABLE', `Another writer holds ${key}.`, { retry: true });
}
