import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestBrowser } from '../../testing/browser.ts';
import { type HostileProvider, providerSecrets, startHostileProvider } from '../../testing/hostile-provider.ts';
import { asOwner } from '../../testing/people.ts';
import { startTestApp, type TestApp, testMasterKey } from '../../testing/test-app.ts';

const baseUrl = 'https://holdfast.example';
const appUri = 'https://app.example/cb';
const configured = {
  OIDC_CLIENT_ID: 'client',
  OIDC_CLIENT_SECRET: 'planted-client-secret',
  JWT_SECRET: 'planted-jwt-secret-of-more-than-32-characters',
};
let provider: HostileProvider;
let app: TestApp;
beforeAll(async () => {
  provider = await startHostileProvider(configured.OIDC_CLIENT_ID);
  app = await startTestApp({
    ...configured,
    BASE_URL: baseUrl,
    OIDC_ISSUER: provider.issuer,
    ALLOWED_REDIRECT_URIS: appUri,
    LOCAL_SIGN_IN: 'true',
    LOG_LEVEL: 'trace',
  });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

/** Every secret value, collected while the service is used. */
const planted = new Map<string, string>([
  ['the client secret', configured.OIDC_CLIENT_SECRET],
  ['the JWT secret', configured.JWT_SECRET],
  ['the master key', testMasterKey],
  ["the provider's access token", providerSecrets.accessToken],
  ["the provider's refresh token", providerSecrets.refreshToken],
]);
const errorBodies: string[] = [];

function plant(name: string, value: unknown): string {
  if (typeof value !== 'string' || value.length < 16) throw new Error(`${name} is missing`);
  planted.set(`${name} ${planted.size}`, value);
  return value;
}

async function failing(method: string, path: string, options: Parameters<TestApp['request']>[2] = {}): Promise<void> {
  const answer = await app.request(method, path, options);
  expect(answer.status, `${method} ${path}`).toBeGreaterThanOrEqual(400);
  errorBodies.push(answer.text + JSON.stringify([...answer.headers]));
}

async function signIn(redirectUri?: string): Promise<{ browser: TestBrowser; location: string }> {
  const browser = new TestBrowser(baseUrl, app.address);
  const query = redirectUri ? `?redirect_uri=${encodeURIComponent(redirectUri)}` : '';
  const first = await browser.request('GET', `${baseUrl}/api/v1/auth/google${query}`);
  const asked = new URL(first.headers.get('location') ?? '').searchParams;
  const state = plant('state', asked.get('state'));
  const nonce = plant('nonce', asked.get('nonce'));
  plant('browser cookie', browser.cookie('holdfast_sign_in'));
  const code = plant('provider code', `planted-provider-code-${planted.size}`);
  provider.idToken = async (base, sign) => plant('id token', await sign({ ...base, nonce }));
  const answer = await browser.request('GET', `${baseUrl}/api/v1/auth/google/callback?code=${code}&state=${state}`);
  expect(answer.status).toBe(302);
  plant('code verifier', provider.lastTokenRequest.get('code_verifier'));
  return { browser, location: answer.headers.get('location') ?? '' };
}

async function useTheService(): Promise<void> {
  const { browser } = await signIn();
  const cookieToken = plant('access cookie', browser.cookie('holdfast_access'));
  plant('refresh cookie', browser.cookie('holdfast_refresh'));
  await browser.request('POST', `${baseUrl}/api/v1/auth/refresh`, { headers: { origin: baseUrl } });
  plant('refresh cookie', browser.cookie('holdfast_refresh'));
  const code = plant('one-time code', new URL((await signIn(appUri)).location).searchParams.get('code'));
  const exchange = { body: { code, grant_type: 'authorization_code' } };
  const tokens = (await app.request('POST', '/api/v1/auth/token', exchange)).body.data;
  plant('access token', tokens.accessToken);
  const refresh = { body: { refreshToken: plant('refresh token', tokens.refreshToken) } };
  const renewed = (await app.request('POST', '/api/v1/auth/refresh', refresh)).body.data;
  const token = plant('access token', renewed.accessToken);
  plant('refresh token', renewed.refreshToken);
  const link = app.signInLink ?? '';
  plant('local link', new URL(link).searchParams.get('token'));
  await app.request('GET', link.slice(baseUrl.length));

  const made = await app.request('POST', '/api/v1/organizations', { token, body: { name: 'Planted' } });
  const organizationId = made.body.data.id;
  const account = '/api/v1/organizations/current/service-account';
  const headers = { 'idempotency-key': 'once' };
  const body = { name: 'robot', permissions: ['organization:read'] };
  const key = await app.request('POST', account, { token, organizationId, headers, body });
  const apiKey = plant('API key', key.body.data.apiKey);
  const rotated = await app.request('POST', `${account}/rotate`, { token, organizationId, body: {} });
  const newKey = plant('API key', rotated.body.data.apiKey);
  expect((await app.request('GET', '/api/v1/organizations/current', { token: newKey })).status).toBe(200);

  await failing('POST', '/api/v1/auth/token', exchange);
  await failing('POST', '/api/v1/auth/token', { body: { ...exchange.body, grant_type: code } });
  await failing('POST', '/api/v1/auth/token', { body: `{"code": "${code}", broken` });
  await failing('POST', '/api/v1/auth/refresh', { body: { ...refresh.body, more: refresh.body.refreshToken } });
  await failing('POST', '/api/v1/auth/refresh', {
    headers: { cookie: `holdfast_refresh=${refresh.body.refreshToken}` },
  });
  await failing('GET', link.slice(baseUrl.length));
  await failing('GET', `/api/v1/auth/google?redirect_uri=https://evil.example/?${code}`);
  await failing('GET', `/api/v1/auth/google/callback?code=${code}&state=${code}`);
  await failing('GET', '/api/v1/auth/me', { token: `${token}x` });
  await failing('GET', '/api/v1/auth/me', { token: apiKey });
  await failing('GET', '/api/v1/audit-logs', { token: `${apiKey.slice(0, -1)}!` });
  await failing('GET', '/api/v1/audit-logs', { headers: { authorization: `Basic ${token}` } });
  await failing('DELETE', '/api/v1/organizations/current/service-account', { token: newKey });
  provider.tokenAnswer = {
    status: 400,
    body: { error: 'invalid_grant', error_description: providerSecrets.refreshToken },
  };
  await failing('POST', '/api/v1/auth/token', {
    body: { code: 'planted-raw-code-1234', grant_type: 'authorization_code' },
  });
  plant('raw code', 'planted-raw-code-1234');
  app.clock.advance(21_000);
  await failing('POST', '/api/v1/auth/refresh', refresh);
  await failing('GET', '/api/v1/auth/me', { token });
  plant('access cookie', cookieToken);
}

/** Every row of every table in every schema, as text. */
function dump(): Promise<string> {
  return asOwner(app.databaseUrl, async (client) => {
    const { rows: tables } = await client.query(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query(`select t::text as row from ${name} t`);
      texts.push(...rows.map(({ row }) => `${name} ${row}`));
    }
    return texts.join('\n');
  });
}

test('no token, code, key or consent appears in logs, audit rows, error bodies or in clear in the database', async () => {
  await useTheService();
  expect(planted.size).toBeGreaterThan(25);
  const places = {
    'the database': await dump(),
    'the log': app.logged(),
    'error bodies': errorBodies.join('\n'),
  };
  expect(places['the database']).toContain('auth.refresh_reused');
  expect(places['the log'].length).toBeGreaterThan(1000);
  const found: string[] = [];
  for (const [place, text] of Object.entries(places)) {
    for (const [name, value] of planted) {
      const forms = [value, encodeURIComponent(value), Buffer.from(value).toString('base64').replace(/=+$/, '')];
      if (forms.some((form) => text.includes(form))) found.push(`${name} in ${place}`);
    }
  }
  expect(found).toEqual([]);
});

test('the same search finds values that are not secret', async () => {
  const text = await dump();
  expect(text).toContain('mallory@example.com');
  expect(text).toContain('Planted');
});
