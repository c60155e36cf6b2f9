import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TestBrowser } from '../../../testing/browser.ts';
import {
  clientId,
  clientSecret,
  type ProviderAccount,
  startIdentityProvider,
  type TestIdentityProvider,
} from '../../../testing/identity-provider.ts';
import { asOwner } from '../../../testing/people.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

const baseUrl = 'https://holdfast.example';
const callback = `${baseUrl}/api/v1/auth/google/callback`;
const appUri = 'https://app.example/signed-in?tenant=1';
const ada: ProviderAccount = {
  sub: 'ada-1',
  email: 'ada@example.com',
  email_verified: true,
  name: 'Ada Lovelace',
  picture: 'https://example.com/ada.png',
};

let provider: TestIdentityProvider;
let app: TestApp;
beforeAll(async () => {
  provider = await startIdentityProvider({ redirectUris: [callback, 'https://client.example/own'], codeSeconds: 3 });
  app = await startTestApp({
    BASE_URL: baseUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: clientId,
    OIDC_CLIENT_SECRET: clientSecret,
    ALLOWED_REDIRECT_URIS: `${appUri},https://other.example/cb`,
  });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});
beforeEach(() => {
  provider.account = ada;
});

const browse = () => new TestBrowser(baseUrl, app.address);
const start = (redirectUri?: string) =>
  `${baseUrl}/api/v1/auth/google${redirectUri ? `?redirect_uri=${encodeURIComponent(redirectUri)}` : ''}`;
const isCallback = (url: string) => url.startsWith(callback);

async function codeFor(browser: TestBrowser, redirectUri = appUri): Promise<string> {
  const end = await browser.open(start(redirectUri), (url) => url.startsWith(redirectUri));
  return new URL(end.url).searchParams.get('code') ?? '';
}

const exchange = (body: unknown) => app.request('POST', '/api/v1/auth/token', { body });
const me = (token: string) => app.request('GET', '/api/v1/auth/me', { token });

describe('the first redirect', () => {
  test('asks with PKCE, state and nonce, and only for identity, because the provider is not Google', async () => {
    const answer = await browse().request('GET', start());
    const url = new URL(answer.headers.get('location') ?? '');
    const asked = Object.fromEntries(url.searchParams);
    expect(answer.status).toBe(302);
    expect(url.origin).toBe(provider.issuer);
    expect(asked).toMatchObject({
      client_id: clientId,
      redirect_uri: callback,
      response_type: 'code',
      code_challenge_method: 'S256',
      scope: 'openid email profile',
    });
    expect(asked.access_type).toBeUndefined();
    for (const secret of ['state', 'nonce', 'code_challenge']) expect(asked[secret]).toMatch(/^[\w-]{43}$/);
  });

  test('asks Google for its three scopes and offline access, unless only identity is wanted', async () => {
    const google = await startTestApp({
      OIDC_ISSUER: provider.issuer,
      GOOGLE_API_ENDPOINTS: JSON.stringify({ oauth2: provider.issuer }),
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
    });
    const asked = async (query: string) => {
      const answer = await google.request('GET', `/api/v1/auth/google${query}`);
      return Object.fromEntries(new URL(answer.headers.get('location') ?? '').searchParams);
    };
    expect(await asked('')).toMatchObject({
      access_type: 'offline',
      prompt: 'consent',
      scope:
        'openid email profile https://www.googleapis.com/auth/firebase https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/datastore',
    });
    expect((await asked('?scope=identity')).scope).toBe('openid email profile');
    await google.close();
  });

  test.each(['https://evil.example/cb', `${appUri}&x=1`, 'https://app.example', 'https://other.example/cb/'])(
    'refuses %s, which is not on the list',
    async (redirectUri) => {
      const answer = await app.request('GET', `/api/v1/auth/google?redirect_uri=${encodeURIComponent(redirectUri)}`);
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field: 'redirect_uri' } });
    },
  );
});

describe('a browser without redirect_uri', () => {
  test('gets HttpOnly, Secure, SameSite=Lax cookies and lands in the dashboard', async () => {
    const browser = browse();
    const end = await browser.open(start(), (url) => url === `${baseUrl}/`);
    expect(end.url).toBe(`${baseUrl}/`);
    const session = browser.setCookies.filter((line) => line.startsWith('holdfast_'));
    expect(session.length).toBe(3);
    for (const line of session) {
      expect(line).toMatch(/; HttpOnly/);
      expect(line).toMatch(/; Secure/);
      expect(line).toMatch(/; SameSite=Lax/);
    }
    const answer = await browser.request('GET', `${baseUrl}/api/v1/auth/me`);
    expect(JSON.parse(answer.text).data).toMatchObject({
      email: ada.email,
      name: ada.name,
      picture: ada.picture,
      organizations: [],
    });
  });

  test('renews its cookies with a same-origin call after the access cookie has expired, and with no other', async () => {
    const browser = browse();
    await browser.open(start(), (url) => url === `${baseUrl}/`);
    const before = browser.cookie('holdfast_refresh');
    browser.forget('holdfast_access');
    const url = `${baseUrl}/api/v1/auth/refresh`;
    expect((await browser.request('POST', url)).status).toBe(403);
    expect((await browser.request('POST', url, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
    const answer = await browser.request('POST', url, { headers: { origin: baseUrl } });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual({ success: true, data: { expiresIn: 3600 } });
    expect(browser.cookie('holdfast_refresh')).not.toBe(before);
    expect((await browser.request('GET', `${baseUrl}/api/v1/auth/me`)).status).toBe(200);
  });

  test('may change things with its cookies only from our own origin', async () => {
    const browser = browse();
    await browser.open(start(), (url) => url === `${baseUrl}/`);
    const url = `${baseUrl}/api/v1/auth/logout`;
    for (const origin of [undefined, 'https://evil.example', 'null', `${baseUrl}.evil.example`]) {
      const refused = await browser.request('POST', url, origin === undefined ? {} : { headers: { origin } });
      expect(refused.status).toBe(403);
      expect(JSON.parse(refused.text).error.code).toBe('FORBIDDEN');
    }
    expect((await browser.request('POST', url, { headers: { origin: baseUrl } })).status).toBe(200);
    expect(browser.cookie('holdfast_access')).toBeUndefined();
    expect(browser.cookie('holdfast_refresh')).toBeUndefined();
  });
});

describe('a caller with redirect_uri', () => {
  test('gets a one-time code there and exchanges it for tokens', async () => {
    const end = await browse().open(start(appUri), (url) => url.startsWith('https://app.example'));
    const url = new URL(end.url);
    expect(url.searchParams.get('tenant')).toBe('1');
    const answer = await exchange({ code: url.searchParams.get('code'), grant_type: 'authorization_code' });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject({ tokenType: 'Bearer', expiresIn: 3600 });
    const claims = JSON.parse(Buffer.from(answer.body.data.accessToken.split('.')[1], 'base64url').toString());
    expect(claims).toMatchObject({ email: ada.email, name: ada.name, organizations: [] });
    expect(claims.exp - claims.iat).toBe(3600);
    expect(Object.keys(claims).sort()).toEqual(
      ['aud', 'email', 'exp', 'iat', 'iss', 'jti', 'name', 'organizations', 'sid', 'sub'].sort(),
    );
    expect((await me(answer.body.data.accessToken)).body.data.id).toBe(claims.sub);
  });

  test('can use a code once, also when ten try at the same time', async () => {
    const code = await codeFor(browse());
    const body = { code, grant_type: 'authorization_code' };
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(body)));
    expect(answers.filter((answer) => answer.status === 200).length).toBe(1);
    expect(answers.filter((answer) => answer.status === 401).length).toBe(9);
  });

  test('is too late after 60 s', async () => {
    const code = await codeFor(browse());
    app.clock.advance(60_500);
    const answer = await exchange({ code, grant_type: 'authorization_code' });
    expect(answer.status).toBe(401);
    expect(answer.body.error.code).toBe('UNAUTHORIZED');
  });

  test('gets different errors for a wrong grant_type and for an invented code', async () => {
    const wrong = await exchange({ code: 'x', grant_type: 'password' });
    expect(wrong.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field: 'grant_type' } });
    for (const code of ['hfc_made-up', 'made-up']) {
      expect((await exchange({ code, grant_type: 'authorization_code' })).status).toBe(401);
    }
  });

  test('gets the refusal there when the person said no', async () => {
    provider.account = undefined;
    const end = await browse().open(start(appUri), (url) => url.startsWith('https://app.example'));
    expect(new URL(end.url).searchParams.get('error')).toBe('access_denied');
    expect(new URL(end.url).searchParams.get('code')).toBeNull();
  });
});

describe("the provider's answer", () => {
  test('counts only in the browser that began the sign-in', async () => {
    const victim = browse();
    const end = await browse().open(start(), isCallback);
    for (const browser of [victim, await anotherFlow()]) {
      const answer = await browser.request('GET', end.url);
      expect(answer.status).toBe(401);
      expect(browser.cookie('holdfast_access')).toBeUndefined();
    }
  });

  async function anotherFlow(): Promise<TestBrowser> {
    const browser = browse();
    await browser.request('GET', start());
    return browser;
  }

  test('counts once', async () => {
    const browser = browse();
    const end = await browser.open(start(), isCallback);
    expect((await browser.request('GET', end.url)).status).toBe(302);
    expect((await browser.request('GET', end.url)).status).toBe(401);
  });

  test('is too late after ten minutes', async () => {
    const browser = browse();
    const end = await browser.open(start(), isCallback);
    app.clock.advance(600_500);
    expect((await browser.request('GET', end.url)).status).toBe(401);
  });

  test.each(['', '?code=abc', '?state=abc', '?code=abc&state=abc', '?error=access_denied', '?error=x&state=abc'])(
    'without a sign-in behind it is refused: %s',
    async (query) => {
      expect((await app.request('GET', `/api/v1/auth/google/callback${query}`)).status).toBe(401);
    },
  );

  test('of another issuer is refused', async () => {
    const browser = browse();
    const end = await browser.open(start(), isCallback);
    const url = new URL(end.url);
    expect(url.searchParams.get('iss')).toBe(provider.issuer);
    url.searchParams.set('iss', 'https://evil.example');
    expect((await browser.request('GET', url.href)).status).toBe(401);
  });

  test('with an expired provider code is refused', { tags: 'long' }, async () => {
    const browser = browse();
    const end = await browser.open(start(), isCallback);
    await new Promise((resolve) => setTimeout(resolve, 4200));
    expect((await browser.request('GET', end.url)).status).toBe(401);
  });

  test('completes two sign-ins that two tabs of one browser began', async () => {
    const browser = browse();
    const first = await browser.open(start(), isCallback);
    const second = await browser.open(start(), isCallback);
    expect((await browser.request('GET', first.url)).status).toBe(302);
    expect((await browser.request('GET', second.url)).status).toBe(302);
  });

  test('cannot be fetched with HEAD, so a link preview uses nothing up', async () => {
    const browser = browse();
    const end = await browser.open(start(), isCallback);
    const head = await browser.request('HEAD', end.url);
    expect(head.status).toBe(405);
    expect((await browser.request('GET', end.url)).status).toBe(302);
  });
});

describe('a code of the provider', () => {
  const verifier = randomBytes(32).toString('base64url');

  async function ownCode(redirectUri: string, nonce?: string): Promise<string> {
    const url = new URL(`${provider.issuer}/auth`);
    url.search = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid email profile',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(nonce ? { nonce } : {}),
    }).toString();
    const end = await browse().open(url.href, (next) => next.startsWith(redirectUri));
    return new URL(end.url).searchParams.get('code') ?? '';
  }

  test.each([undefined, 'the-client-chose-it'])(
    'is exchanged with its redirect URI and verifier (nonce %s)',
    async (nonce) => {
      const redirectUri = 'https://client.example/own';
      const body = { grant_type: 'authorization_code', redirectUri, codeVerifier: verifier };
      const code = await ownCode(redirectUri, nonce);
      const answer = await exchange({ ...body, code });
      expect(answer.status).toBe(200);
      expect((await me(answer.body.data.accessToken)).body.data.email).toBe(ada.email);
      expect((await exchange({ ...body, code })).status).toBe(401);
    },
  );

  test('without its verifier, or with another, is refused', async () => {
    const body = { grant_type: 'authorization_code' };
    expect((await exchange({ ...body, code: await ownCode(callback) })).status).toBe(401);
    const other = { ...body, code: await ownCode(callback), codeVerifier: randomBytes(32).toString('base64url') };
    expect((await exchange(other)).status).toBe(401);
  });
});

describe('people', () => {
  test('are identified by issuer and subject: a new e-mail address is the same person, a new subject is another', async () => {
    const signIn = async (account: ProviderAccount) => {
      provider.account = account;
      const answer = await exchange({ code: await codeFor(browse()), grant_type: 'authorization_code' });
      return (await me(answer.body.data.accessToken)).body.data;
    };
    const bob = { sub: 'bob-1', email: 'bob@example.com', email_verified: false, name: 'Bob' };
    const first = await signIn(bob);
    const renamed = await signIn({ ...bob, email: 'bob@new.example', name: 'Robert' });
    const twin = await signIn({ ...bob, sub: 'bob-2' });
    expect(renamed).toMatchObject({ id: first.id, email: 'bob@new.example', name: 'Robert' });
    expect(twin.id).not.toBe(first.id);
    const kept = await asOwner(app.databaseUrl, (client) =>
      client.query('select email_verified from users where id = $1', [first.id]),
    );
    expect(kept.rows[0].email_verified).toBe(false);
  });

  test('give no consent by signing in at a provider other than Google: its refresh token is not stored, and Google is not asked', async () => {
    const answer = await exchange({ code: await codeFor(browse()), grant_type: 'authorization_code' });
    const token = answer.body.data.accessToken;
    const created = await app.request('POST', '/api/v1/organizations', { token, body: { name: 'Acme' } });
    const as = { token, organizationId: created.body.data.id };
    const seen = await app.request('GET', '/api/v1/projects/available', as);
    expect([seen.status, seen.body.error], seen.text).toMatchObject([
      502,
      { code: 'SOURCE_AUTH_ERROR', message: expect.stringContaining('Nobody has given consent') },
    ]);
    const kept = await asOwner(app.databaseUrl, (client) =>
      client.query('select 1 from users where provider_refresh_token is not null'),
    );
    expect(kept.rows).toEqual([]);
  });
});
