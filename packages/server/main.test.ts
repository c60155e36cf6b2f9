import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Cluster } from './testing/cluster.ts';
import { testMasterKey } from './testing/test-app.ts';
import { createTestDatabase } from './testing/test-database.ts';

/** Makes the process fail where nobody catches, when it is told to. */
const saboteur = (failure: string) =>
  `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => setTimeout(() => { ${failure} }))`)}`;

test.each([
  ['an exception', "throw new Error('nobody catches this')"],
  ['a rejection', "Promise.reject(new Error('nobody catches this'))"],
])(
  '%s that nobody caught is told, and the process closes and ends with 1',
  async (_what, failure) => {
    const database = await createTestDatabase();
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-main-'));
    const environment = { NODE_OPTIONS: saboteur(failure) };
    const cluster = new Cluster({ databaseUrl: database.url, folder, masterKey: testMasterKey, environment });
    try {
      const child = await cluster.startRole('worker');
      let output = '';
      child.stdout?.on('data', (piece) => {
        output += String(piece);
      });
      child.kill('SIGUSR2');
      const [code] = await once(child, 'exit');
      expect(code).toBe(1);
      expect(output).toContain('the service ends to be restarted');
      expect(output).toContain('nobody catches this');
    } finally {
      await cluster.close();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    }
  },
  120_000,
);
