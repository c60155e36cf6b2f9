import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner, signUp } from '../../../testing/people.ts';
import { openSession } from '../../../testing/sessions.ts';
import { foundOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import { sweepExpired } from '../cleanup.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const list = (token: string, query = '') => app.request('GET', `/api/v1/auth/sessions${query}`, { token });
const me = (token: string) => app.request('GET', '/api/v1/auth/me', { token });
const sessionOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sid;

test('are listed newest first, page by page, with their origin and the one that is asking', async () => {
  const person = await signUp(app, 'list@example.com');
  const tokens = [];
  for (let count = 0; count < 4; count++) {
    app.clock.advance(1000);
    tokens.push(await openSession(app, person.id, { 'user-agent': `Browser ${count}` }));
  }
  const newest = tokens.at(-1)?.accessToken ?? '';
  const all = await list(newest);
  expect(all.body.data.map((session: { userAgent: string }) => session.userAgent)).toEqual([
    'Browser 3',
    'Browser 2',
    'Browser 1',
    'Browser 0',
    null,
  ]);
  expect(all.body.data.map((session: { current: boolean }) => session.current)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
  expect(all.body.data[0].ip).toMatch(/127\.0\.0\.1/);
  const first = await list(newest, '?limit=3');
  const second = await list(newest, `?limit=3&cursor=${first.body.pagination.nextCursor}`);
  expect([...first.body.data, ...second.body.data]).toEqual(all.body.data);
  expect(second.body.pagination).toEqual({ nextCursor: null, hasMore: false });
  const stranger = await signUp(app, 'stranger@example.com');
  expect((await list(stranger.token, `?cursor=${first.body.pagination.nextCursor}`)).status).toBe(400);
});

test('can be revoked one by one, and their tokens stop at once', async () => {
  const { owner, id: organizationId } = await foundOrganization(app);
  const [mine, lost] = [await openSession(app, owner.id), await openSession(app, owner.id)];
  const path = `/api/v1/auth/sessions/${sessionOf(lost.accessToken)}`;
  expect((await app.request('DELETE', path, { token: mine.accessToken })).body).toEqual({
    success: true,
    message: 'The session was revoked.',
  });
  expect((await me(lost.accessToken)).status).toBe(401);
  expect(
    (await app.request('POST', '/api/v1/auth/refresh', { body: { refreshToken: lost.refreshToken } })).status,
  ).toBe(401);
  expect((await me(mine.accessToken)).status).toBe(200);
  expect((await app.request('DELETE', path, { token: mine.accessToken })).body.error.code).toBe('NOT_FOUND');
  const log = await app.request('GET', '/api/v1/audit-logs?resourceType=session', {
    token: mine.accessToken,
    organizationId,
  });
  expect(log.body.data.map((entry: { action: string }) => entry.action)).toEqual([
    'auth.session_revoked',
    'auth.signed_in',
    'auth.signed_in',
  ]);
});

test('of other people are not found and stay', async () => {
  const [ada, eve] = [await signUp(app, 'ada@example.com'), await signUp(app, 'eve@example.com')];
  for (const id of [sessionOf(ada.token), 'ses_none', '%00', "x' or 1=1"]) {
    const answer = await app.request('DELETE', `/api/v1/auth/sessions/${encodeURIComponent(id)}`, { token: eve.token });
    expect([400, 404]).toContain(answer.status);
  }
  expect((await me(ada.token)).status).toBe(200);
});

test('end with the sign-out, with an audit row in every organization of the person', async () => {
  const first = await foundOrganization(app);
  const second = await app.request('POST', '/api/v1/organizations', {
    token: first.owner.token,
    body: { name: 'Second' },
  });
  const gone = await openSession(app, first.owner.id);
  const answer = await app.request('POST', '/api/v1/auth/logout', { token: gone.accessToken });
  expect(answer.body.success).toBe(true);
  expect((await me(gone.accessToken)).status).toBe(401);
  for (const organizationId of [first.id, second.body.data.id]) {
    const log = await app.request('GET', '/api/v1/audit-logs?resourceType=session', {
      token: first.owner.token,
      organizationId,
    });
    expect(log.body.data.map((entry: { action: string }) => entry.action)).toEqual([
      'auth.signed_out',
      'auth.signed_in',
    ]);
    expect(log.body.data[0]).toMatchObject({
      actor: { type: 'user', id: first.owner.id, email: first.owner.email },
      resource: { type: 'session', id: sessionOf(gone.accessToken) },
      context: { ip: expect.stringMatching(/127\.0\.0\.1/) },
      requestId: answer.headers.get('x-request-id'),
    });
  }
});

test('save their last use at most once a minute', async () => {
  const person = await signUp(app, 'active@example.com');
  const { accessToken } = await openSession(app, person.id);
  const lastUsed = async () =>
    asOwner(app.databaseUrl, async (client) => {
      const { rows } = await client.query('select last_used_at from sessions where id = $1', [sessionOf(accessToken)]);
      return rows[0].last_used_at.getTime() as number;
    });
  const atFirst = await lastUsed();
  app.clock.advance(30_000);
  await me(accessToken);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await lastUsed()).toBe(atFirst);
  app.clock.advance(31_000);
  await Promise.all(Array.from({ length: 20 }, () => me(accessToken)));
  await expect.poll(lastUsed).toBeGreaterThanOrEqual(atFirst + 60_000);
});

test('that have ended are removed with their codes, flows, tokens and idempotency keys, and open ones stay', async () => {
  const other = await startTestApp();
  try {
    const { owner } = await foundOrganization(other);
    await openSession(other, owner.id);
    await other.request('POST', '/api/v1/organizations', {
      token: owner.token,
      body: { name: 'X' },
      headers: { 'idempotency-key': 'k' },
    });
    const counts = () =>
      asOwner(other.databaseUrl, async (client) => {
        const { rows } = await client.query(
          `select (select count(*)::int from one_time_codes) as codes, (select count(*)::int from refresh_tokens) as tokens,
                  (select count(*)::int from sessions) as sessions, (select count(*)::int from idempotency_keys) as keys`,
        );
        return rows[0];
      });
    const sweep = () => sweepExpired(other.platform.database, other.clock, new AbortController().signal);
    const before = await counts();
    await sweep();
    expect(await counts()).toEqual(before);
    other.clock.advance(9 * 86_400_000);
    await sweep();
    expect(await counts()).toEqual({ codes: 0, tokens: 0, sessions: 1, keys: 0 });
  } finally {
    await other.close();
  }
});

test('in use keep no refresh token after it expires, and no successor after the grace period', async () => {
  const other = await startTestApp();
  try {
    const { id } = await signUp(other, 'long@example.com');
    let { refreshToken } = await openSession(other, id);
    for (let round = 0; round < 4; round++) {
      other.clock.advance(3 * 86_400_000);
      const answer = await other.request('POST', '/api/v1/auth/refresh', { body: { refreshToken } });
      refreshToken = answer.body.data.refreshToken;
    }
    other.clock.advance(200_000);
    await sweepExpired(other.platform.database, other.clock, new AbortController().signal);
    const { rows } = await asOwner(other.databaseUrl, (client) =>
      client.query('select successor from refresh_tokens order by created_at'),
    );
    expect(rows).toEqual([{ successor: null }, { successor: null }, { successor: null }]);
    expect((await other.request('POST', '/api/v1/auth/refresh', { body: { refreshToken } })).status).toBe(200);
  } finally {
    await other.close();
  }
});
