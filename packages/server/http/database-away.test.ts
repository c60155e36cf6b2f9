import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connected } from '../testing/connected.ts';
import { signUp } from '../testing/people.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { createTestDatabase } from '../testing/test-database.ts';

let app: TestApp;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let line: Server;
const sockets = new Set<Socket>();
let port = 0;
/** The error of a server that accepts no connection, if set. */
let refusal: { code: string; message: string } | undefined;

/** The service reaches its database through a connection that can be cut. */
beforeAll(async () => {
  database = await createTestDatabase();
  const url = new URL(database.url);
  const target = { host: url.hostname, port: Number(url.port) };
  line = createServer((near) => {
    if (refusal) return refuse(near, refusal);
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

/** Answers as PostgreSQL does after a client's first message. */
function refuse(near: Socket, { code, message }: { code: string; message: string }): void {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  near.on('error', () => {}).once('data', () => near.end(Buffer.concat([Buffer.from('E'), length, fields])));
}

function hangUp(): void {
  for (const socket of sockets) socket.destroy();
}

async function cut(): Promise<void> {
  const closed = new Promise((resolve) => line.close(resolve));
  hangUp();
  await closed;
}

const asOwner = (statement: string) => connected(database.url, (owner) => owner.query(statement));

test('without its database the service says so, and continues when it is back', async () => {
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

test('a database that accepts no connections, or no changes, is reported as such, and everything continues without a restart', async () => {
  const { token } = await signUp({ ...app, databaseUrl: database.url }, 'ada@example.com');
  const found = await app.request('POST', '/api/v1/organizations', { token, body: { name: 'First' } });
  const organizationId: string = found.body.data.id;
  const read = () => app.request('GET', '/api/v1/schedules', { token, organizationId });
  const change = () =>
    app.request('PUT', '/api/v1/organizations/current', { token, organizationId, body: { name: 'Again' } });
  const health = () => app.request('GET', '/health');
  const cases: [string, string, RegExp][] = [
    ['57P03', 'the database system is in recovery mode', /database .* starting, stopping or recovering/],
    ['53300', 'sorry, too many clients already', /database .* takes no more connections/],
    ['28P01', 'password authentication failed', /database .* refuses its login/],
    ['3D000', 'there is no such database', /database .* refuses its login, or is not there/],
    ['53200', 'out of memory', /database .* short of memory/],
  ];
  for (const [code, message, sentence] of cases) {
    refusal = { code, message };
    hangUp();
    for (const ask of [read, change]) {
      await expect.poll(async () => (await ask()).body.error?.message, { message: code }).toMatch(sentence);
      const answer = await ask();
      expect([answer.status, answer.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    const report = await health();
    expect([report.status, report.body]).toMatchObject([503, { status: 'unhealthy', checks: { database: 'error' } }]);
    expect(report.body.message).toMatch(sentence);
  }
  refusal = undefined;
  await expect.poll(async () => (await change()).status).toBe(200);

  const { pathname } = new URL(database.url);
  await asOwner(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`);
  hangUp();
  await expect.poll(async () => (await change()).body.error?.message).toMatch(/can only be read right now/);
  expect(await change()).toMatchObject({ status: 503, body: { error: { code: 'SERVICE_UNAVAILABLE' } } });
  expect((await read()).status).toBe(200);
  const report = await health();
  expect([report.status, report.body.checks.database]).toEqual([503, 'error']);
  expect(report.body.message).toMatch(/can only be read/);
  expect((await app.request('GET', '/health/ready')).status).toBe(503);
  await asOwner(`begin read write; alter database ${pathname.slice(1)} reset default_transaction_read_only; commit`);
  await expect.poll(async () => (await change()).status).toBe(200);
  await expect.poll(async () => (await health()).body.status).toBe('healthy');
  expect((await app.request('GET', '/health/ready')).status).toBe(200);
});
