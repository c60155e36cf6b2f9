import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner } from '../../testing/people.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { isUnused } from './use-locks.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const isFree = (name: string) => app.platform.database.system((transaction) => isUnused(transaction, name));

test('a thing in use is not free until its last user has released it', async () => {
  const { useLocks } = app.platform.database;
  const first = await useLocks.hold(['one', 'two']);
  const second = await useLocks.hold(['one']);
  expect([await isFree('one'), await isFree('two'), await isFree('three')]).toEqual([false, false, true]);
  await first();
  await first();
  expect([await isFree('one'), await isFree('two')]).toEqual([false, true]);
  await second();
  expect(await isFree('one')).toBe(true);
});

test('a use that begins during a removal waits for it', async () => {
  const { database } = app.platform;
  let isHeld = false;
  let release: Promise<() => Promise<void>> | undefined;
  await database.system(async (transaction) => {
    expect(await isUnused(transaction, 'four')).toBe(true);
    release = database.useLocks.hold(['four']);
    void release.then(() => {
      isHeld = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(isHeld).toBe(false);
  });
  await (await release!)();
});

/** Ends the connection that holds this use. */
const cutConnectionOf = (name: string) =>
  asOwner(app.databaseUrl, (client) =>
    client.query(
      `select pg_terminate_backend(pid) from pg_locks
        where locktype = 'advisory' and objid = hashtext($1)::oid and mode = 'ShareLock'
          and database = (select oid from pg_database where datname = current_database())`,
      [name],
    ),
  );

test('a use survives the loss of its connection', async () => {
  const release = await app.platform.database.useLocks.hold(['five']);
  await cutConnectionOf('five');
  await expect.poll(() => isFree('five'), { interval: 200 }).toBe(false);
  await release();
  await expect.poll(() => isFree('five')).toBe(true);
});

test('a use comes back also when somebody asked about it during the reconnection', { tags: 'long' }, async () => {
  const release = await app.platform.database.useLocks.hold(['six']);
  await app.platform.database.system(async (transaction) => {
    await cutConnectionOf('six');
    await expect.poll(() => isUnused(transaction, 'six')).toBe(true);
    // Longer than a reconnection takes.
    await new Promise((resolve) => setTimeout(resolve, 2000));
  });
  await expect.poll(() => isFree('six')).toBe(false);
  await release();
  await expect.poll(() => isFree('six')).toBe(true);
});
