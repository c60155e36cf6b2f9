import { startGoogleSandbox } from '@holdfast/sandbox';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { TestBrowser } from '../../../testing/browser.ts';
import { type HostileProvider, startHostileProvider } from '../../../testing/hostile-provider.ts';
import { clientId, clientSecret, startIdentityProvider } from '../../../testing/identity-provider.ts';
import { asOwner } from '../../../testing/people.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import { readProviderRefreshToken } from '../user-store.ts';

const baseUrl = 'https://holdfast.example';
let provider: HostileProvider;
let app: TestApp;
beforeAll(async () => {
  provider = await startHostileProvider(clientId);
  app = await startTestApp(settings(provider.issuer));
});
afterAll(async () => {
  await app.close();
  await provider.close();
});
beforeEach(() => {
  provider.idToken = (base, sign) => sign(base);
  provider.tokenAnswer = undefined;
});

function settings(issuer: string): Record<string, string> {
  return { BASE_URL: baseUrl, OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
}

/** A whole sign-in in which the provider gives the answers that the test has set. */
async function signIn(): Promise<{ status: number; cookies: string[]; text: string }> {
  const browser = new TestBrowser(baseUrl, app.address);
  const first = await browser.request('GET', `${baseUrl}/api/v1/auth/google`);
  const asked = new URL(first.headers.get('location') ?? '').searchParams;
  const { idToken } = provider;
  provider.idToken = (base, sign) => idToken({ ...base, nonce: asked.get('nonce') }, sign);
  const answer = await browser.request(
    'GET',
    `${baseUrl}/api/v1/auth/google/callback?code=c&state=${asked.get('state')}`,
  );
  return { status: answer.status, cookies: answer.headers.getSetCookie(), text: answer.text };
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a good id token signs in', async () => {
  const answer = await signIn();
  expect(answer.status).toBe(302);
  expect(answer.cookies.length).toBe(2);
});

test('the source of the address also decides whether it is verified', async () => {
  const isVerified = async (sub: string) =>
    asOwner(app.databaseUrl, async (client) => {
      const found = await client.query(
        `select email, email_verified from users where provider_subject like '% ' || $1`,
        [sub],
      );
      return found.rows;
    });
  // The id token has no name, so userinfo is asked. Its `email_verified` is about another address and does not count.
  provider.userinfo = { sub: 'one', email: 'other@example.com', email_verified: true, name: 'One' };
  provider.idToken = (base, sign) => {
    const { email_verified: _verified, name: _name, ...rest } = base;
    return sign({ ...rest, sub: 'one', email: 'one@example.com' });
  };
  expect((await signIn()).status).toBe(302);
  expect(await isVerified('one')).toEqual([{ email: 'one@example.com', email_verified: false }]);
  provider.userinfo = { sub: 'two', email: 'two@example.com', name: 'Two' };
  provider.idToken = (base, sign) => {
    const { email: _email, name: _name, ...rest } = base;
    return sign({ ...rest, sub: 'two', email_verified: true });
  };
  expect((await signIn()).status).toBe(302);
  expect(await isVerified('two')).toEqual([{ email: 'two@example.com', email_verified: false }]);
});

test('an answer counts once, also when the provider would accept its code again', async () => {
  const browser = new TestBrowser(baseUrl, app.address);
  const first = await browser.request('GET', `${baseUrl}/api/v1/auth/google`);
  const asked = new URL(first.headers.get('location') ?? '').searchParams;
  provider.idToken = (base, sign) => sign({ ...base, nonce: asked.get('nonce') });
  const answer = `${baseUrl}/api/v1/auth/google/callback?code=c&state=${asked.get('state')}`;
  const before = provider.tokenRequests;
  const statuses = await Promise.all(
    Array.from({ length: 5 }, async () => (await browser.request('GET', answer)).status),
  );
  expect(statuses.sort()).toEqual([302, 401, 401, 401, 401]);
  expect(provider.tokenRequests).toBe(before + 1);
});

const attacks: Record<string, HostileProvider['idToken']> = {
  'another nonce': (base, sign) => sign({ ...base, nonce: 'replayed' }),
  'no nonce': (base, sign) => sign({ ...base, nonce: undefined }),
  'another audience': (base, sign) => sign({ ...base, aud: 'somebody-else' }),
  'several audiences for another party': (base, sign) => sign({ ...base, aud: [clientId, 'other'], azp: 'other' }),
  'another issuer': (base, sign) => sign({ ...base, iss: 'https://accounts.google.com' }),
  'an expiry in the past': (base, sign) => sign({ ...base, exp: Math.floor(Date.now() / 1000) - 60 }),
  'no expiry': (base, sign) => sign({ ...base, exp: undefined }),
  'no subject': (base, sign) => sign({ ...base, sub: undefined }),
  'the algorithm none': async (base) => `${encode({ alg: 'none' })}.${encode(base)}.`,
  'HS256 keyed with the public key': (base) =>
    new SignJWT(base)
      .setProtectedHeader({ alg: 'HS256', kid: 'hostile' })
      .sign(new TextEncoder().encode(JSON.stringify(provider.publicJwk))),
  'HS256 keyed with the client secret': (base) =>
    new SignJWT(base).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(clientSecret)),
  'a key that is not published': async (base) => {
    const { privateKey } = await generateKeyPair('RS256');
    return new SignJWT(base).setProtectedHeader({ alg: 'RS256', kid: 'hostile' }).sign(privateKey);
  },
  'a signature over other claims': async (base, sign) => {
    const [header, , signature] = (await sign(base)).split('.');
    return `${header}.${encode({ ...base, sub: 'ada' })}.${signature}`;
  },
  'no e-mail address': (base, sign) => sign({ ...base, email: undefined }),
  'an e-mail address that is none': (base, sign) => sign({ ...base, email: 'mallory' }),
  'nothing that is a token': async () => 'garbage',
};

test.each(Object.keys(attacks))('an id token with %s is refused and sets no cookie', async (name) => {
  provider.idToken = attacks[name] as HostileProvider['idToken'];
  const answer = await signIn();
  expect(answer.status).toBe(401);
  expect(answer.cookies).toEqual([]);
  expect(JSON.parse(answer.text).error.code).toBe('UNAUTHORIZED');
});

test('raw codes pass the same checks', async () => {
  for (const name of ['another audience', 'another issuer', 'the algorithm none', 'a key that is not published']) {
    provider.idToken = attacks[name] as HostileProvider['idToken'];
    const body = { code: 'c', grant_type: 'authorization_code' };
    expect((await app.request('POST', '/api/v1/auth/token', { body })).status).toBe(401);
  }
});

test('a failing provider is reported as unavailable, and nobody is signed in', async () => {
  for (const tokenAnswer of [
    { status: 500, body: {} },
    { status: 503, body: { error: 'temporarily_unavailable' } },
    { status: 401, body: { error: 'invalid_client' } },
  ]) {
    provider.tokenAnswer = tokenAnswer;
    const answer = await signIn();
    expect(answer.status).toBe(503);
    expect(answer.cookies).toEqual([]);
  }
});

test('discovery is repeated after failures and then kept', async () => {
  const flaky = await startHostileProvider(clientId);
  flaky.discoveryFailures = 4;
  const other = await startTestApp(settings(flaky.issuer));
  try {
    const ask = () => other.request('GET', '/api/v1/auth/google');
    expect((await ask()).status).toBe(503);
    expect((await ask()).status).toBe(302);
    flaky.discoveryFailures = 1_000;
    expect((await ask()).status).toBe(302);
  } finally {
    await other.close();
    await flaky.close();
  }
});

test('without a configured provider the sign-in says so', async () => {
  const other = await startTestApp();
  try {
    const answer = await other.request('GET', '/api/v1/auth/google');
    expect([answer.status, answer.body.error.code]).toEqual([409, 'INVALID_STATE']);
    const body = { code: 'x', grant_type: 'authorization_code' };
    expect((await other.request('POST', '/api/v1/auth/token', { body })).status).toBe(401);
  } finally {
    await other.close();
  }
});

test.each([
  { clientAuthentication: 'client_secret_post', claimsInIdToken: true },
  { clientAuthentication: 'client_secret_basic', claimsInIdToken: false },
] as const)('a provider with %o works as it is', async (options) => {
  const callback = `${baseUrl}/api/v1/auth/google/callback`;
  const real = await startIdentityProvider({ redirectUris: [callback], ...options });
  real.account = { sub: 'eve', email: 'eve@example.com', email_verified: true, name: 'Eve' };
  const other = await startTestApp(settings(real.issuer));
  try {
    for (let round = 0; round < 2; round++) {
      const browser = new TestBrowser(baseUrl, other.address);
      const end = await browser.open(`${baseUrl}/api/v1/auth/google`, (url) => url === `${baseUrl}/`);
      expect(end.url).toBe(`${baseUrl}/`);
      expect(browser.cookie('holdfast_access')).toBeDefined();
    }
  } finally {
    await other.close();
    await real.close();
  }
});

test("Google's consent is kept sealed, and opens into a refresh token that Google accepts", async () => {
  const google = await startGoogleSandbox({ people: [{ email: 'ada@example.com', name: 'Ada' }] });
  const client = { client_id: 'sandbox-client', client_secret: 'sandbox-secret' };
  const other = await startTestApp({
    OIDC_ISSUER: google.url,
    GOOGLE_API_ENDPOINTS: JSON.stringify({ oauth2: google.url }),
    OIDC_CLIENT_ID: client.client_id,
    OIDC_CLIENT_SECRET: client.client_secret,
  });
  try {
    const browser = new TestBrowser(other.address, other.address);
    await browser.open(`${other.address}/api/v1/auth/google`, (url) => url === `${other.address}/`);
    const me = JSON.parse((await browser.request('GET', `${other.address}/api/v1/auth/me`)).text).data;
    expect(me).toMatchObject({ email: 'ada@example.com', name: 'Ada' });
    const { database, keyring } = other.platform;
    const refreshToken = await database.system((transaction) => readProviderRefreshToken(transaction, me.id, keyring));
    const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken ?? '', ...client });
    const answer = await fetch(`${google.url}/token`, { method: 'POST', body: form });
    expect([answer.status, await answer.json()]).toMatchObject([200, { access_token: expect.any(String) }]);
  } finally {
    await other.close();
    await google.stop();
  }
});
