import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BackupBench, startBackupBench } from '../testing/backup-bench.ts';

let bench: BackupBench;
let path: string;
beforeAll(async () => {
  bench = await startBackupBench();
  for (let n = 0; n < 9; n++) await bench.firestore.doc(`users/${n}`).set({ text: 'x'.repeat(900_000) });
  path = `/api/v1/backups/${await bench.backUp()}/documents?limit=200`;
});
afterAll(() => bench.close());

/** Reads the beginning of the answer and nothing more. */
async function askOnly(): Promise<Socket> {
  const { hostname, port } = new URL(bench.app.address);
  const { token, organizationId } = bench.as;
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nX-Organization-Id: ${organizationId}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => socket.once('readable', () => resolve()));
  return socket;
}

test('an organization has a limited amount of unread large answers, and room again when they are read', async () => {
  const read = () => bench.app.request('GET', path, bench.as);
  expect((await read()).text.length).toBeGreaterThan(7 * 1024 * 1024);
  const sockets: Socket[] = [];
  for (let n = 0; n < 10; n++) sockets.push(await askOnly());
  const refused = await read();
  expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([
    ...[429, 'RATE_LIMITED', '1'],
  ]);
  expect((await bench.app.request('GET', '/api/v1/backups', bench.as)).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await read()).status).toBe(200);
});
