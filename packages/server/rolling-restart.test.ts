// @module-tag long
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from './platform/free-port.ts';
import { Cluster } from './testing/cluster.ts';
import { SteadyCallers } from './testing/steady-callers.ts';
import { testMasterKey } from './testing/test-app.ts';
import { createTestDatabase } from './testing/test-database.ts';

/** Enough to show the promise; use more on a free machine. */
const restarts = Number(process.env.RESTARTS ?? 2);

test('steady callers on kept-alive connections notice nothing when processes are replaced one after the other', async () => {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-rolling-'));
  const cluster = new Cluster({ databaseUrl: database.url, folder, masterKey: testMasterKey });
  let callers: SteadyCallers | undefined;
  try {
    await cluster.startApi();
    const { token } = await cluster.signIn();
    const ports = [await freePort(), await freePort()];
    const environment = { SHUTDOWN_GRACE_SECONDS: '8' };
    const start = (port: number) => cluster.startRole('api', undefined, { PORT: String(port), ...environment });
    const running = await Promise.all(ports.map(start));
    callers = new SteadyCallers(ports, '/api/v1/auth/me', { authorization: `Bearer ${token}` }, 8);
    for (let count = 0; count < restarts; count++) {
      const place = count % ports.length;
      const port = ports[place] as number;
      const leaving = running[place] as ChildProcess;
      leaving.kill('SIGTERM');
      expect(await once(leaving, 'exit')).toEqual([0, null]);
      running[place] = await start(port);
      await expect.poll(() => callers?.isReady(port)).toBe(true);
    }
    await callers.stop();
    expect(callers.faults).toEqual([]);
    expect(callers.answered).toBeGreaterThan(restarts);
  } finally {
    await callers?.stop();
    await cluster.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
});
