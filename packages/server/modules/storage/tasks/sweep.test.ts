import { createMemoryStore } from '@holdfast/engine';
import { expect, test } from 'vitest';
import { Sweep } from './sweep.ts';

test('a sweep names what a lock keeps, and counts the rest of the same batch as removed', async () => {
  const store = createMemoryStore();
  const retainUntil = new Date(Date.now() + 60_000);
  await store.put('logs/locked', new Uint8Array(7), { lock: { mode: 'governance', retainUntil } });
  await store.put('logs/free', new Uint8Array(5));
  const sweep = new Sweep(store, new AbortController().signal);
  for await (const { key, size, modifiedAt } of store.list('logs/'))
    await sweep.add({ key, bytes: size, lastModified: modifiedAt });
  await sweep.flush();
  const failures = [{ key: 'logs/locked', reason: expect.stringContaining('logs/locked') }];
  expect(sweep.result).toEqual({ found: 2, removed: 1, skipped: 0, bytes: 5, failures, versionsKept: false });
});
