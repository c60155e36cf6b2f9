// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testMasterKey } from './testing/test-app.ts';
import { createTestDatabase } from './testing/test-database.ts';

test('a process that is told to stop ends in time even when its database has gone silent', async () => {
  await using stack = new AsyncDisposableStack();
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-silent-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const url = new URL(database.url);
  const target = { host: url.hostname, port: Number(url.port) };
  const sockets = new Set<Socket>();
  let isSilent = false;
  const line = createServer((near) => {
    sockets.add(near.on('error', () => undefined));
    if (isSilent) return;
    const far = connect(target).on('error', () => undefined);
    sockets.add(far);
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  stack.defer(() => {
    line.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(line, 'listening');
  url.host = `127.0.0.1:${(line.address() as AddressInfo).port}`;
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const child = spawn(process.execPath, [fileURLToPath(new URL('./main.ts', import.meta.url))], {
    env: {
      PATH,
      NODE_COMPILE_CACHE,
      PORT: '0',
      DATABASE_URL: url.href,
      MASTER_KEY: testMasterKey,
      HOLDFAST_DATA: folder,
      HOLDFAST_ROLES: 'scheduler,worker',
      SHUTDOWN_GRACE_SECONDS: '1',
    },
  });
  stack.defer(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (piece) => {
    said += String(piece);
  });
  await expect.poll(() => said).toContain('the service started');

  isSilent = true;
  for (const socket of sockets) socket.unpipe().pause();
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(30_000) });
  expect(code).toBe(1);
  expect(said).toContain('could not close in time');
});
