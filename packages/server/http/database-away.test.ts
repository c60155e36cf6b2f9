import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { createTestDatabase } from '../testing/test-database.ts';

let app: TestApp;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let line: Server;
const sockets = new Set<Socket>();
let port = 0;

/** The service reaches its database through a line that can be cut. */
beforeAll(async () => {
  database = await createTestDatabase();
  const url = new URL(database.url);
  const target = { host: url.hostname, port: Number(url.port) };
  line = createServer((near) => {
    const far = connect(target);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  await listen(0);
  port = (line.address() as { port: number }).port;
  url.hostname = '127.0.0.1';
  url.port = String(port);
  app = await startTestApp({ DATABASE_URL: url.href });
});
afterAll(async () => {
  await app.close();
  line.close();
  for (const socket of sockets) socket.destroy();
  await database.drop();
});

const listen = (at: number) => new Promise<void>((resolve) => line.listen(at, '127.0.0.1', resolve));

async function cut(): Promise<void> {
  const closed = new Promise((resolve) => line.close(resolve));
  for (const socket of sockets) socket.destroy();
  await closed;
}

test('without its database the service says so, and goes on when it is back', async () => {
  const signedIn = await app.request('GET', app.signInLink!.slice(app.address.length), {
    headers: { accept: 'application/json' },
  });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ');
  const me = () => app.request('GET', '/api/v1/auth/me', { headers: { cookie } });
  expect((await me()).status).toBe(200);
  await cut();
  const refused = await me();
  expect([refused.status, refused.body.error]).toMatchObject([
    503,
    { code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('database'), requestId: expect.any(String) },
  ]);
  expect(refused.headers.get('retry-after')).toBe('5');
  const health = await app.request('GET', '/health');
  expect([health.status, health.body]).toMatchObject([
    503,
    { status: 'unhealthy', checks: { database: 'error', storage: 'unknown' } },
  ]);
  expect((await app.request('GET', '/health/live')).status).toBe(200);
  expect((await app.request('GET', '/health/ready')).status).toBe(503);
  await listen(port);
  await expect.poll(async () => (await me()).status).toBe(200);
  await expect.poll(async () => (await app.request('GET', '/health')).body.status).toBe('healthy');
});
