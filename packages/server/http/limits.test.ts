// @module-tag long
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { asOwner, foundOrganization, join, signUp, type TestPerson } from '../testing/people.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';

let app: TestApp;
let ada: TestPerson;
let organizationId: string;

beforeAll(async () => {
  app = await startTestApp({ REFUSED_RATE_LIMIT_PER_MINUTE: '120', TRUST_PROXY: 'true' });
  ada = await signUp(app, 'ada@example.com');
  organizationId = await foundOrganization(app, ada);
});
afterAll(() => app.close());

const rowsWritten = 2500;
const rowBytes = 8000;
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
const times = <T>(count: number, call: () => Promise<T>) => Promise.all(Array.from({ length: count }, call));
const counted = (answers: readonly { status: number }[]) =>
  Object.fromEntries(
    [...Map.groupBy(answers, ({ status }) => status)].map(([status, group]) => [status, group.length]),
  );

test('an address may be refused 120 times a minute, with any credentials, and its good calls go on', async () => {
  const stranger = await signUp(app, 'stranger@example.com');
  const wrong = { ...from('10.0.0.1'), token: 'fb_sa_wrong', organizationId };
  const none = from('10.0.0.1');
  const foreign = { ...from('10.0.0.1'), token: stranger.token, organizationId };
  const answers = await times(50, async () => [
    await app.request('GET', '/api/v1/backups', wrong),
    await app.request('GET', '/api/v1/backups', none),
    await app.request('GET', '/api/v1/backups', foreign),
  ]);
  const { 429: limited, 401: unauthorized, 403: forbidden } = counted(answers.flat());
  expect([limited, (unauthorized ?? 0) + (forbidden ?? 0)]).toEqual([30, 120]);
  const good = await app.request('GET', '/api/v1/backups', { ...from('10.0.0.1'), token: ada.token, organizationId });
  const elsewhere = await app.request('GET', '/api/v1/backups', from('10.0.0.2'));
  expect([good.status, elsewhere.status]).toEqual([200, 401]);
});

test('health answers an address 120 times a minute, and probes of orchestrators are not counted', async () => {
  const answers = await times(150, () => app.request('GET', '/health', from('10.0.0.3')));
  expect(counted(answers)).toEqual({ 200: 120, 429: 30 });
  expect((await app.request('GET', '/health/live', from('10.0.0.3'))).status).toBe(200);
});

test('an organization may change its passphrase ten times a minute', async () => {
  const change = (passphrase: string) =>
    app.request('PUT', '/api/v1/organizations/current/encryption-key', {
      token: ada.token,
      organizationId,
      body: { passphrase },
    });
  const answers = await Promise.all(
    Array.from({ length: 13 }, (_, index) => change(`a passphrase that is long enough ${index}`)),
  );
  expect(counted(answers)).toEqual({ 200: 10, 429: 3 });
});

test('metrics without a token are for this machine only, and behind a proxy for nobody', async () => {
  expect((await app.request('GET', '/metrics')).status).toBe(401);
  const direct = await startTestApp();
  expect((await direct.request('GET', '/metrics')).status).toBe(200);
  expect((await direct.request('GET', '/metrics', from('127.0.0.1'))).status).toBe(401);
  await direct.close();
  const guarded = await startTestApp({ METRICS_TOKEN: 'a-long-token', TRUST_PROXY: 'true' });
  expect((await guarded.request('GET', '/metrics', { token: 'a-long-token' })).status).toBe(200);
  await guarded.close();
});

test('an impossible organization id is not found', async () => {
  for (const id of ["org_'; drop", 'org_ä', 'x'.repeat(80)]) {
    const answer = await app.request('POST', `/api/v1/organizations/${encodeURIComponent(id)}/recover`, {
      token: ada.token,
    });
    expect([answer.status, answer.body.error.code]).toEqual([404, 'ORGANIZATION_NOT_FOUND']);
  }
});

test('an organization has sixteen streams at a time, and another organization its own', async () => {
  await writeManyAuditRows(app, organizationId);
  const sockets = await times(16, () => openUnreadStream(app, ada.token, organizationId));
  const exported = (id: string) => app.request('GET', exportPath, { token: ada.token, organizationId: id });
  const seventeenth = await exported(organizationId);
  expect([seventeenth.status, seventeenth.body?.error.code]).toEqual([429, 'RATE_LIMITED']);
  expect(Number(seventeenth.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await exported(await foundOrganization(app, ada))).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await exported(organizationId)).status).toBe(200);
});

test('an organization has its own rate limit for all its people and keys together', async () => {
  const limited = await startTestApp({ RATE_LIMIT_PER_MINUTE: '20' });
  const owner = await signUp(limited, 'owner@example.com');
  const helper = await signUp(limited, 'helper@example.com');
  const id = await foundOrganization(limited, owner);
  await join(limited, id, helper, 'viewer');
  const list = (token: string) => limited.request('GET', '/api/v1/backups', { token, organizationId: id });
  const answers = [];
  for (let count = 0; count < 12; count += 1) answers.push(await list(owner.token), await list(helper.token));
  expect(counted(answers)).toEqual({ 200: 20, 429: 4 });
  const { headers } = answers.at(-1) as (typeof answers)[number];
  expect(headers.get('ratelimit-policy')).toBe('"default";q=20;w=60');
  expect(headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await limited.request('GET', '/api/v1/auth/me', { token: helper.token })).status).toBe(200);
  await limited.close();
});

test('a caller that waits many times for the same lock leaves connections to others', async () => {
  const stranger = await signUp(app, 'stranger-to-locks@example.com');
  const handOver = () =>
    app.request('PUT', `/api/v1/organizations/current/members/${ada.id}`, {
      token: ada.token,
      organizationId,
      body: { role: 'owner' },
    });
  const handed = await asOwner(app.databaseUrl, async (client) => {
    await client.query('begin');
    await client.query('select from organizations where id = $1 for update', [organizationId]);
    const waiting = times(12, handOver);
    const count = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(async () => (await client.query(count)).rowCount).toBeGreaterThanOrEqual(4);
    const others = await times(20, () => app.request('GET', '/api/v1/auth/me', { token: stranger.token }));
    expect(counted(others)).toEqual({ 200: 20 });
    await client.query('rollback');
    return await waiting;
  });
  expect(counted(handed)).toEqual({ 200: 12 });
});

test('streams are also counted in all organizations together', async () => {
  const narrow = await startTestApp({}, { streamLimits: { totalMax: 1 } });
  const person = await signUp(narrow, 'person@example.com');
  const [first, second] = [await foundOrganization(narrow, person), await foundOrganization(narrow, person)];
  await writeManyAuditRows(narrow, first);
  const socket = await openUnreadStream(narrow, person.token, first);
  const exported = () => narrow.request('GET', exportPath, { token: person.token, organizationId: second });
  const refused = await exported();
  expect([refused.status, refused.body?.error.message]).toEqual([429, expect.stringContaining('by others too')]);
  socket.destroy();
  await expect.poll(async () => (await exported()).status).toBe(200);
  await narrow.close();
});

test('a person has their own number of streams in all their organizations, and takes no place from others', async () => {
  const narrow = await startTestApp({}, { streamLimits: { perPersonMax: 1 } });
  const [person, other] = [await signUp(narrow, 'person@example.com'), await signUp(narrow, 'other@example.com')];
  const [first, second] = [await foundOrganization(narrow, person), await foundOrganization(narrow, person)];
  await join(narrow, second, other, 'admin');
  await writeManyAuditRows(narrow, first);
  const socket = await openUnreadStream(narrow, person.token, first);
  const exported = ({ token }: TestPerson) => narrow.request('GET', exportPath, { token, organizationId: second });
  const refused = await exported(person);
  expect([refused.status, refused.body?.error.message]).toEqual([
    429,
    expect.stringContaining('1 open streams of yours'),
  ]);
  expect((await exported(other)).status).toBe(200);
  socket.destroy();
  await expect.poll(async () => (await exported(person)).status).toBe(200);
  await narrow.close();
});

test('the keys of all organizations of one person share a number of streams, separate from that of the person, and take no place from others', async () => {
  const narrow = await startTestApp({}, { streamLimits: { perPersonMax: 1 } });
  const [person, other] = [await signUp(narrow, 'person@example.com'), await signUp(narrow, 'other@example.com')];
  const owners = [person, person, other];
  const organizations = await Promise.all(owners.map((owner) => foundOrganization(narrow, owner)));
  const [first, second, third] = organizations as [string, string, string];
  const keyOf = async (index: number) => {
    const as = { token: owners[index]!.token, organizationId: organizations[index]! };
    const body = { name: 'Machine', permissions: ['organization:read'] };
    const made = await narrow.request('POST', '/api/v1/organizations/current/service-account', { ...as, body });
    return made.body.data.apiKey as string;
  };
  await writeManyAuditRows(narrow, first);
  const socket = await openUnreadStream(narrow, await keyOf(0), first);
  const exported = (token: string, id: string) => narrow.request('GET', exportPath, { token, organizationId: id });
  const key = await keyOf(1);
  const refused = await exported(key, second);
  expect([refused.status, refused.body?.error.code]).toEqual([429, 'RATE_LIMITED']);
  expect((await exported(person.token, second)).status).toBe(200);
  expect((await exported(await keyOf(2), third)).status).toBe(200);
  socket.destroy();
  await expect.poll(async () => (await exported(key, second)).status).toBe(200);
  await narrow.close();
});

test('a client that leaves before its stream begins frees its place', async () => {
  const narrow = await startTestApp({}, { streamLimits: { totalMax: 1 } });
  const person = await signUp(narrow, 'person@example.com');
  const id = await foundOrganization(narrow, person);
  const as = { token: person.token, organizationId: id };
  for (const path of [exportPath, '/api/v1/organizations/current/events'])
    for (let attempt = 0; attempt < 20; attempt++) {
      const socket = askFor(narrow, path, as);
      await new Promise<void>((resolve) => socket.once('connect', () => setImmediate(resolve)));
      socket.destroy();
    }
  await expect.poll(async () => (await narrow.request('GET', exportPath, as)).status).toBe(200);
  await narrow.close();
});

test('a caller that hangs up in the middle of a body no longer counts', async () => {
  const { hostname, port } = new URL(app.address);
  const head = `POST /api/v1/schedules HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ada.token}\r\nX-Organization-Id: ${organizationId}\r\n`;
  for (let attempt = 0; attempt < 20; attempt++) {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name":`);
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
    // Some hang up during authentication, some before the head has arrived.
    await sleep(attempt % 4);
    socket.destroy();
  }
  await expect.poll(() => app.platform.cpuTurns.hasCalls).toBe(false);
});

test('a stream requested by HEAD is neither followed nor read', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const as = { token: ada.token, organizationId };
  const before = timers();
  const answers = await times(100, () => app.request('HEAD', '/api/v1/organizations/current/events', as));
  expect(counted(answers)).toEqual({ 200: 100 });
  expect(answers[0]?.headers.get('content-type')).toBe('text/event-stream');
  // Each follower has two timers.
  await expect.poll(timers).toBeLessThan(before + 100);
  const reads = vi.spyOn(app.platform.database, 'tenant');
  await app.request('HEAD', exportPath, as);
  expect((await app.request('GET', exportPath, as)).status).toBe(200);
  const pagesOfOne = rowsWritten / 500 + 1;
  const own = reads.mock.calls.filter(([id]) => id === organizationId);
  expect(own.length).toBeLessThan(2 * pagesOfOne);
  reads.mockRestore();
});

test('a stream that nobody reads is ended', async () => {
  const hasty = await startTestApp({}, { streamLimits: { unreadMsMax: 300 } });
  const person = await signUp(hasty, 'person@example.com');
  const id = await foundOrganization(hasty, person);
  await writeManyAuditRows(hasty, id);
  const socket = await openUnreadStream(hasty, person.token, id);
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // Long enough for the service to notice; the bytes that it had already sent are read only afterwards.
  await sleep(1500);
  let taken = 0;
  socket.on('data', (chunk: Buffer) => {
    taken += chunk.length;
  });
  await ended;
  expect(taken).toBeLessThan(rowsWritten * rowBytes);
  await hasty.close();
});

test('a stream is cut off when its reader loses the key, the membership, the role or the session, and goes on when a token only expires', async () => {
  const strict = await startTestApp({}, { streamLimits: { recheckMs: 100 } });
  const owner = await signUp(strict, 'owner@example.com');
  const id = await foundOrganization(strict, owner);
  const as = { token: owner.token, organizationId: id };
  await writeManyAuditRows(strict, id);
  const members = await Promise.all(
    ['removed', 'demoted', 'left'].map(async (name) => {
      const person = await signUp(strict, `${name}@example.com`);
      await join(strict, id, person, 'admin');
      return person;
    }),
  );
  const [removed, demoted, left] = members as [TestPerson, TestPerson, TestPerson];
  const account = { name: 'Machine', permissions: ['organization:read'] };
  const machine = '/api/v1/organizations/current/service-account';
  const { apiKey } = (await strict.request('POST', machine, { ...as, body: account })).body.data;
  const tokens = [apiKey, ...members.map(({ token }) => token), owner.token];
  const sockets = await Promise.all(tokens.map((token) => openUnreadStream(strict, token, id)));
  const member = (person: TestPerson) => `/api/v1/organizations/current/members/${person.id}`;
  const changes = await Promise.all([
    strict.request('DELETE', machine, as),
    strict.request('DELETE', member(removed), as),
    strict.request('PUT', member(demoted), { ...as, body: { role: 'member' } }),
    strict.request('POST', '/api/v1/auth/logout', { token: left.token }),
  ]);
  expect(changes.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  strict.clock.advance(2 * 60 * 60_000);
  await sleep(600);
  const taken = await Promise.all(sockets.map((socket) => takenUntilQuiet(socket)));
  const whole = rowsWritten * rowBytes;
  expect(taken.map((bytes) => bytes >= whole)).toEqual([false, false, false, false, true]);
  await strict.close();
});

/** Reads what still comes from a stream, until it ends or is quiet. */
async function takenUntilQuiet(socket: Socket): Promise<number> {
  let taken = 0;
  let isEnded = false;
  socket.once('close', () => {
    isEnded = true;
  });
  socket.on('data', (chunk: Buffer) => {
    taken += chunk.length;
  });
  for (let before = -1; !isEnded && taken !== before; await sleep(1000)) before = taken;
  socket.destroy();
  return taken;
}

const exportPath = '/api/v1/audit-logs/export?format=ndjson';

/** Writes more than the buffers between us and a client that does not read can hold. */
async function writeManyAuditRows({ platform }: TestApp, id: string): Promise<void> {
  await platform.database.system(({ client }) =>
    client.query(
      `insert into audit_logs (organization_id, id, timestamp, action, actor_type, resource_type, details, position, previous_hash, hash)
       select $1, 'aud_' || $1 || n, now(), 'test.row', 'system', 'test', jsonb_build_object('text', repeat('x', ${rowBytes})), n + 1000, '', ''
         from generate_series(1, ${rowsWritten}) n`,
      [id],
    ),
  );
}

interface Caller {
  token: string;
  organizationId: string;
}

function askFor({ address }: TestApp, path: string, { token, organizationId: id }: Caller): Socket {
  const { hostname, port } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nX-Organization-Id: ${id}\r\n\r\n`);
  return socket;
}

async function openUnreadStream(asked: TestApp, token: string, id: string): Promise<Socket> {
  const socket = askFor(asked, exportPath, { token, organizationId: id });
  await new Promise<void>((resolve) => socket.once('readable', () => resolve()));
  return socket;
}
