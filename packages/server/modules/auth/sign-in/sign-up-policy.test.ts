import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestBrowser } from '../../../testing/browser.ts';
import {
  clientId,
  clientSecret,
  startIdentityProvider,
  type TestIdentityProvider,
} from '../../../testing/identity-provider.ts';
import { asOwner, join, signUp } from '../../../testing/people.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

const baseUrl = 'https://holdfast.example';
let provider: TestIdentityProvider;
let app: TestApp;

beforeAll(async () => {
  provider = await startIdentityProvider({ redirectUris: [`${baseUrl}/api/v1/auth/google/callback`], codeSeconds: 60 });
  app = await startTestApp({
    BASE_URL: baseUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    SIGN_UP_POLICY: 'invited',
    SIGN_UP_DOMAINS: 'Friends.example',
    ORGANIZATIONS_PER_USER_MAX: '2',
    PLAN_CHANGES: 'operator',
  });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

/** Returns the access token or the error. */
async function signIn(email: string, verified = true) {
  provider.account = { sub: email, email, email_verified: verified, name: 'Somebody' };
  const browser = new TestBrowser(baseUrl, app.address);
  const end = await browser.open(`${baseUrl}/api/v1/auth/google`, (url) => url === `${baseUrl}/`);
  const token = browser.cookie('holdfast_access');
  return { token: token ?? '', status: end.status, error: token ? undefined : JSON.parse(end.text).error };
}

const closed = { code: 'FORBIDDEN', details: { reason: 'sign_up_closed' } };

describe('an installation for invited people', () => {
  let owner: string;
  let organizationId: string;

  test('accepts the first person as founder, and refuses a second one who is not invited without a trace', async () => {
    owner = (await signIn('first@example.com')).token;
    expect(owner).not.toBe('');
    const stranger = await signIn('stranger@example.com');
    expect(stranger).toMatchObject({ status: 403, error: closed });
    const { rows } = await asOwner(app.databaseUrl, (client) => client.query('select email from users'));
    expect(rows).toEqual([{ email: 'first@example.com' }]);
    expect((await signIn('first@example.com')).token).not.toBe('');
  });

  test('lets in people of the domains it names, by an address the provider has verified', async () => {
    expect((await signIn('ben@friends.example')).token).not.toBe('');
    expect((await signIn('eve@friends.example', false)).error).toMatchObject(closed);
    expect((await signIn('eve@notfriends.example')).error).toMatchObject(closed);
  });

  test('accepts invited people as long as the invitation is open', async () => {
    const found = await app.request('POST', '/api/v1/organizations', { token: owner, body: { name: 'Acme' } });
    organizationId = found.body.data.id;
    const invite = (email: string) =>
      app.request('POST', '/api/v1/organizations/current/invites', {
        token: owner,
        organizationId,
        body: { email, role: 'member' },
      });
    expect((await invite('Carla@example.com')).status).toBe(201);
    const cancelled = await invite('dora@example.com');
    const path = `/api/v1/organizations/current/invites/${cancelled.body.data.id}`;
    expect((await app.request('DELETE', path, { token: owner, organizationId })).status).toBe(200);
    expect((await signIn('carla@example.com', false)).error).toMatchObject(closed);
    expect((await signIn('carla@example.com')).token).not.toBe('');
    expect((await signIn('dora@example.com')).error).toMatchObject(closed);
  });

  test('lets nobody own more organizations than it allows, also with many concurrent requests', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        app.request('POST', '/api/v1/organizations', { token: owner, body: { name: 'Another' } }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.error).toMatchObject({ code: 'LIMIT_REACHED', details: { limit: 2 } });
  });

  test('lets nobody own more by a transfer of ownership', async () => {
    const receiver = await signUp(app, 'receiver@example.com');
    const found = async (token: string): Promise<string> => {
      const answer = await app.request('POST', '/api/v1/organizations', { token, body: { name: 'Handed over' } });
      expect(answer.status, answer.text).toBe(201);
      return answer.body.data.id;
    };
    const giver = await signUp(app, 'giver@example.com');
    for (let count = 0; count < 3; count += 1) {
      const id = await found(giver.token);
      await join(app, id, receiver, 'admin');
      const member = `/api/v1/organizations/current/members/${receiver.id}`;
      const as = { token: giver.token, organizationId: id };
      const answer = await app.request('PUT', member, { ...as, body: { role: 'owner' } });
      if (count < 2) expect([answer.status, answer.body.data.role], answer.text).toEqual([200, 'owner']);
      else expect(answer.body.error, answer.text).toMatchObject({ code: 'LIMIT_REACHED', details: { limit: 2 } });
    }
  });

  test('leaves plans to its operator', async () => {
    const path = '/api/v1/organizations/current/subscription';
    const as = { token: owner, organizationId };
    const answer = await app.request('PUT', path, { ...as, body: { plan: 'starter' } });
    expect(answer.body.error).toMatchObject({ code: 'FORBIDDEN', details: { reason: 'plan_changes_closed' } });
    await asOwner(app.databaseUrl, (client) =>
      client.query(`update organizations set plan = 'starter' where id = '${organizationId}'`),
    );
    expect((await app.request('GET', path, as)).body.data.plan).toBe('starter');
  });
});
