import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../../testing/backup-bench.ts';
import { untilEnded } from '../../testing/protected-project.ts';

let bench: BackupBench;
beforeAll(async () => {
  bench = await startBackupBench({ DATABASE_POOL_SIZE: '2' });
  for (let index = 0; index < 20; index++) await bench.firestore.doc(`users/${index}`).set({ index });
});
afterAll(() => bench.close());

test('with two connections backups, restores, every periodic task and calls run concurrently', {
  tags: 'long',
}, async () => {
  const { app, as } = bench;
  const stopping = new AbortController();
  const ticking = everyTaskAgainAndAgain(stopping.signal);
  // Awaited at the end; if the test ends earlier, this is not its failure.
  ticking.catch(() => undefined);
  const backupId = await bench.backUp();
  const [restore, ...calls] = await Promise.all([
    app.request('POST', '/api/v1/backups/restore', { ...as, body: { backupId } }),
    ...Array.from({ length: 20 }, () => app.request('PATCH', '/api/v1/organizations/current', { ...as, body: {} })),
    ...Array.from({ length: 20 }, () => app.request('GET', '/api/v1/audit-logs', as)),
  ]);
  expect(restore.text).toContain('"success":true');
  expect(calls.filter(({ status }) => status >= 500)).toEqual([]);
  const ended = await untilEnded(app, `/api/v1/backups/restore/${restore.body.data.restoreJobId}`, as);
  expect(ended.status).toBe('completed');
  stopping.abort();
  const rounds = await ticking;
  expect(rounds).toBeGreaterThan(0);
  expect(app.logged()).not.toContain('timeout exceeded when trying to connect');
});

test('a listener and the lock of a running task hold no connection of the pool', async () => {
  const { database } = bench.app.platform;
  let atOnce = 0;
  const bothInside = Promise.withResolvers<void>();
  const heard = Promise.withResolvers<string>();
  const stop = database.notices.subscribe('small_pool', (payload) => payload && heard.resolve(payload));
  await database.notices.ready();
  await database.taskLocks.runAlone('small pool', new AbortController().signal, async () => {
    const transaction = () =>
      database.system(async ({ client }) => {
        if (++atOnce === 2) bothInside.resolve();
        await bothInside.promise;
        await client.query(`select pg_notify('small_pool', 'hello')`);
      });
    await Promise.all([transaction(), transaction()]);
  });
  expect(await heard.promise).toBe('hello');
  stop();
});

async function everyTaskAgainAndAgain(signal: AbortSignal): Promise<number> {
  const { tasks } = bench.app;
  let rounds = 0;
  while (!signal.aborted) {
    await Promise.all(tasks.names.map((name) => tasks.runNow(name)));
    rounds += 1;
    await sleep(20);
  }
  return rounds;
}
