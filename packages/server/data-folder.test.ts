// @module-tag long
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testMasterKey } from './testing/test-app.ts';
import { createTestDatabase } from './testing/test-database.ts';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
/** A process that is started like this cannot write to any file, as on a full disk. */
const withoutRoom = 'ulimit -f 0 && exec "$0" "$@"';

/** Starts the service and ends it as soon as it runs. */
async function startWithoutRoom(env: Record<string, string>) {
  const child = spawn('sh', ['-c', withoutRoom, process.execPath, main], { env });
  let [out, error] = ['', ''];
  child.stdout.on('data', (piece) => {
    out += String(piece);
    if (/^Sign in: \S+$/m.test(out)) child.kill('SIGINT');
  });
  child.stderr.on('data', (piece) => {
    error += String(piece);
  });
  const [code] = await once(child, 'close');
  return { code, out, error };
}

test('with a full disk a service starts if only local backups need space there, and says so, and a new key needs space', async ({
  skip,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-full-'));
  const { url, drop } = await createTestDatabase();
  try {
    if (spawnSync('sh', ['-c', withoutRoom, 'cp', main, folder]).status === 0) skip('there is no such limit here');
    const { PATH = '' } = process.env;
    const env = { PATH, PORT: '0', DATABASE_URL: url, HOLDFAST_DATA: folder, ALLOW_LOCAL_STORAGE: 'true' };
    const started = await startWithoutRoom({ ...env, MASTER_KEY: testMasterKey });
    const told = expect.stringMatching(/"the disk of the data folder is full: backups into local destinations/);
    expect(started).toMatchObject({ code: 0, out: told });
    const refused = await startWithoutRoom(env);
    expect(refused).toMatchObject({ code: 1, error: expect.stringMatching(/^The data folder \S+ cannot be used: /) });
  } finally {
    await drop();
    await rm(folder, { recursive: true, force: true });
  }
});
