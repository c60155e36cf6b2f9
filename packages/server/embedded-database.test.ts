import { once } from 'node:events';
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startApp } from './app.ts';
import { loadConfig } from './config.ts';
import { requireDataFolder } from './data-folder.ts';
import { startEmbeddedDatabase, stopEmbeddedDatabase } from './embedded-database.ts';
import { createLogger } from './platform/log.ts';

const log = createLogger('silent');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-own-'));
  // Accessible to the user of the server process, so that the database is created in here and removed with it.
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('several processes that make the same data folder at the same moment all succeed', async () => {
  for (let round = 0; round < 20; round += 1) {
    const config = loadConfig({ HOLDFAST_DATA: join(folder, `round ${round}`, 'below', 'data') });
    await Promise.all(Array.from({ length: 8 }, () => requireDataFolder(config, log)));
  }
});

test('a failed start ends the database that was started for it, also if nobody has waited for it', {
  tags: 'long',
}, async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const config = loadConfig({ HOLDFAST_DATA: join(folder, 'data'), HOST: '127.0.0.1', PORT: String(port) });
  const isRunning = () =>
    stat(join(folder, 'data', 'postgres', 'postmaster.pid')).then(
      () => true,
      () => false,
    );
  const embeddedDatabase = startEmbeddedDatabase(config, log);
  await embeddedDatabase;
  expect(await isRunning()).toBe(true);
  await expect(startApp(config, { log, embeddedDatabase })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(await isRunning()).toBe(false);
  taken.close();

  const again = startEmbeddedDatabase(config, log);
  await Promise.all([stopEmbeddedDatabase(again), stopEmbeddedDatabase(again)]);
  expect(await isRunning()).toBe(false);
});

test('a database that is configured elsewhere is not started here', () => {
  const config = loadConfig({ HOLDFAST_DATA: folder, DATABASE_URL: 'postgres://holdfast:x@127.0.0.1:1/holdfast' });
  expect(startEmbeddedDatabase(config, log)).toBeUndefined();
});
