import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHostileProvider } from '../../../testing/hostile-provider.ts';
import { asOwner } from '../../../testing/people.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const open = (link: string, at = app) => at.request('GET', link.slice(link.indexOf('/auth/local')));
const cookiesOf = (headers: Headers) =>
  headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');

test('a fresh installation prints a link that makes the first owner with an organization, once', async () => {
  const link = app.signInLink ?? '';
  expect(link).toMatch(new RegExp(`^${app.address}/auth/local\\?token=[\\w-]{40,}$`));
  expect((await app.request('HEAD', link.slice(app.address.length))).status).toBe(405);
  const answer = await open(link);
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/']);
  const cookie = cookiesOf(answer.headers);
  const me = await app.request('GET', '/api/v1/auth/me', { headers: { cookie } });
  expect(me.body.data.organizations).toMatchObject([{ name: 'My organization', role: 'owner' }]);
  const log = await app.request('GET', '/api/v1/audit-logs', {
    headers: { cookie },
    organizationId: me.body.data.organizations[0].id,
  });
  expect(log.body.data.map((entry: { action: string }) => entry.action)).toEqual([
    'auth.signed_in',
    'organization.created',
  ]);
  for (const again of [link, `${link}x`, link.slice(0, -1)]) {
    const refused = await open(again);
    expect([refused.status, refused.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(refused.headers.getSetCookie()).toEqual([]);
  }
  expect((await open('/auth/local')).status).toBe(400);
});

test('works once when ten use it at the same time', async () => {
  const other = await startTestApp();
  try {
    const answers = await Promise.all(Array.from({ length: 10 }, () => open(other.signInLink ?? '', other)));
    expect(answers.filter(({ status }) => status === 302).length).toBe(1);
    const { rows } = await asOwner(other.databaseUrl, (client) =>
      client.query(
        'select (select count(*)::int from users) as users, (select count(*)::int from organizations) as organizations',
      ),
    );
    expect(rows).toEqual([{ users: 1, organizations: 1 }]);
  } finally {
    await other.close();
  }
});

test('is valid for a week', async () => {
  const other = await startTestApp();
  try {
    other.clock.advance(7 * 86_400_000 + 1000);
    expect((await open(other.signInLink ?? '', other)).status).toBe(401);
  } finally {
    await other.close();
  }
});

test('is neither printed nor accepted once a provider is configured, unless the operator keeps it', {
  tags: 'long',
}, async () => {
  const provider = await startHostileProvider('client');
  const environment = { OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: 'client', OIDC_CLIENT_SECRET: 'secret' };
  const first = await startTestApp();
  const strict = await startTestApp({ ...environment, DATABASE_URL: first.databaseUrl });
  const lenient = await startTestApp({ ...environment, DATABASE_URL: first.databaseUrl, LOCAL_SIGN_IN: 'true' });
  try {
    expect(strict.signInLink).toBeUndefined();
    expect((await open(first.signInLink ?? '', strict)).status).toBe(401);
    expect(lenient.signInLink).toBeDefined();
    expect((await open(lenient.signInLink ?? '', lenient)).status).toBe(302);
    // Somebody has signed in, so the link that was printed before is invalid.
    expect((await open(first.signInLink ?? '', first)).status).toBe(401);
  } finally {
    await lenient.close();
    await strict.close();
    await first.close();
    await provider.close();
  }
});

test('each start prints a new link, and all of them lead to the same person', { tags: 'long' }, async () => {
  const first = await startTestApp();
  const idThrough = async (at: TestApp) => {
    const cookie = cookiesOf((await open(at.signInLink ?? '', at)).headers);
    return (await at.request('GET', '/api/v1/auth/me', { headers: { cookie } })).body.data;
  };
  const before = await idThrough(first);
  const second = await startTestApp({ DATABASE_URL: first.databaseUrl });
  try {
    expect(second.signInLink).not.toBe(first.signInLink);
    const after = await idThrough(second);
    expect(after.id).toBe(before.id);
    expect(after.organizations).toEqual(before.organizations);
  } finally {
    await second.close();
    await first.close();
  }
});
