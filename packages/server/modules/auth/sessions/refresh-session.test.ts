import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner, signUp, type TestPerson } from '../../../testing/people.ts';
import { openSession, type TestTokens } from '../../../testing/sessions.ts';
import { foundOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

describe.each([
  { JWT_ALGORITHM: 'RS256' },
  { JWT_ALGORITHM: 'HS256', JWT_SECRET: 'planted-shared-secret-of-32-characters!' },
])('refresh tokens ($JWT_ALGORITHM)', (environment) => {
  let app: TestApp;
  let person: TestPerson;
  let organizationId: string;
  beforeAll(async () => {
    app = await startTestApp(environment as unknown as Record<string, string>);
    ({ id: organizationId, owner: person } = await foundOrganization(app));
  });
  afterAll(() => app.close());

  const refresh = (refreshToken: unknown) => app.request('POST', '/api/v1/auth/refresh', { body: { refreshToken } });
  const me = (token: string) => app.request('GET', '/api/v1/auth/me', { token });
  const next = async (tokens: TestTokens): Promise<TestTokens> => (await refresh(tokens.refreshToken)).body.data;

  test('are exchanged for the next pair, which names the current organizations', async () => {
    const tokens = await openSession(app, person.id);
    const answer = await refresh(tokens.refreshToken);
    expect(Object.keys(answer.body.data).sort()).toEqual(['accessToken', 'expiresIn', 'refreshToken']);
    expect(answer.body.data.refreshToken).not.toBe(tokens.refreshToken);
    const claims = JSON.parse(Buffer.from(answer.body.data.accessToken.split('.')[1], 'base64url').toString());
    expect(claims.organizations).toContain(organizationId);
    expect((await me(answer.body.data.accessToken)).status).toBe(200);
    expect((await me(tokens.accessToken)).status).toBe(200);
  });

  test('are nothing else: an access token, or any other text, is refused as a wrong token', async () => {
    const tokens = await openSession(app, person.id);
    for (const wrong of [tokens.accessToken, `${tokens.refreshToken}x`, 'made-up', `hfr_${'x'.repeat(2000)}`]) {
      const answer = await refresh(wrong);
      expect([answer.status, answer.body.error.code], answer.text).toEqual([401, 'UNAUTHORIZED']);
    }
    expect((await refresh(tokens.refreshToken)).status).toBe(200);
  });

  test('that two tabs use at once lead both to the same successor', async () => {
    const tokens = await openSession(app, person.id);
    const pairs = await Promise.all([next(tokens), next(tokens)]);
    expect(pairs[0]?.refreshToken).toBe(pairs[1]?.refreshToken);
    for (const pair of pairs) expect((await me(pair.accessToken)).status).toBe(200);
    expect((await refresh(pairs[0]?.refreshToken)).status).toBe(200);
  });

  test('used again within 20 s give the same successor, even when that one was used since', async () => {
    const tokens = await openSession(app, person.id);
    const second = await next(tokens);
    const third = await next(second);
    app.clock.advance(19_000);
    expect((await next(tokens)).refreshToken).toBe(second.refreshToken);
    expect((await next(second)).refreshToken).toBe(third.refreshToken);
  });

  test('used again later end the whole family at once, and every organization gets an audit row', async () => {
    const tokens = await openSession(app, person.id);
    const other = await openSession(app, person.id);
    const second = await next(tokens);
    app.clock.advance(21_000);
    expect((await refresh(tokens.refreshToken)).status).toBe(401);
    expect((await refresh(second.refreshToken)).status).toBe(401);
    expect((await me(second.accessToken)).status).toBe(401);
    expect((await me(tokens.accessToken)).status).toBe(401);
    expect((await me(other.accessToken)).status).toBe(200);
    const log = await app.request('GET', '/api/v1/audit-logs?action=auth.refresh_reused', {
      token: other.accessToken,
      organizationId,
    });
    expect(log.body.data.length).toBe(1);
    expect(log.body.data[0]).toMatchObject({ actor: { id: person.id }, resource: { type: 'session' } });
  });

  test('live seven days after they were made, so a session in use goes on', async () => {
    const day = 86_400_000;
    let tokens = await openSession(app, person.id);
    for (let round = 0; round < 3; round++) {
      app.clock.advance(6 * day);
      expect((await me(tokens.accessToken)).status).toBe(401);
      tokens = await next(tokens);
      expect((await me(tokens.accessToken)).status).toBe(200);
    }
    app.clock.advance(7 * day + 1000);
    expect((await refresh(tokens.refreshToken)).status).toBe(401);
  });

  test('that are invented, changed or of another kind are refused, and a missing one is a fault of the request', async () => {
    const { refreshToken, accessToken } = await openSession(app, person.id);
    for (const wrong of ['x', 'hfr_x', `${refreshToken}x`, refreshToken.slice(0, -1), accessToken.slice(0, 500)]) {
      const answer = await refresh(wrong);
      expect([answer.status, answer.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
    }
    for (const wrong of ['', 5, null, undefined]) {
      expect((await refresh(wrong)).body.error.code).toBe('VALIDATION_ERROR');
    }
    expect((await app.request('POST', '/api/v1/auth/refresh')).body.error.code).toBe('VALIDATION_ERROR');
    expect((await refresh(refreshToken)).status).toBe(200);
  });

  test('end with the sign-out', async () => {
    const tokens = await openSession(app, person.id);
    expect((await app.request('POST', '/api/v1/auth/logout', { token: tokens.accessToken })).status).toBe(200);
    expect((await refresh(tokens.refreshToken)).status).toBe(401);
    expect((await me(tokens.accessToken)).status).toBe(401);
  });

  test('stay one family with one successor each through 500 concurrent refreshes', { tags: 'long' }, async () => {
    let tokens = await openSession(app, person.id);
    for (const atOnce of [500, 20]) {
      const pairs = await Promise.all(Array.from({ length: atOnce }, () => next(tokens)));
      expect(new Set(pairs.map((pair) => pair.refreshToken)).size).toBe(1);
      tokens = pairs[0] as TestTokens;
    }
    const sessionId = JSON.parse(Buffer.from(tokens.accessToken.split('.')[1] ?? '', 'base64url').toString()).sid;
    const kept = await asOwner(app.databaseUrl, (client) =>
      client.query('select used_at is null as fresh from refresh_tokens where session_id = $1', [sessionId]),
    );
    expect(kept.rows.length).toBe(3);
    expect(kept.rows.filter((row) => row.fresh).length).toBe(1);
    expect((await me(tokens.accessToken)).status).toBe(200);
    expect(app.logged()).not.toMatch(/deadlock/i);
  });

  test('never bring a session back when many refreshes race with a sign-out', async () => {
    const people = await Promise.all(
      Array.from({ length: 10 }, (_, index) => signUp(app, `crowd-${index}@example.com`)),
    );
    await Promise.all(
      people.map(async ({ id }) => {
        const tokens = await openSession(app, id);
        const [, ...renewed] = await Promise.all([
          app.request('POST', '/api/v1/auth/logout', { token: tokens.accessToken }),
          ...Array.from({ length: 5 }, () => refresh(tokens.refreshToken)),
        ]);
        for (const answer of renewed) {
          if (answer.status !== 200) continue;
          expect((await me(answer.body.data.accessToken)).status).toBe(401);
          expect((await refresh(answer.body.data.refreshToken)).status).toBe(401);
        }
      }),
    );
  });
});
