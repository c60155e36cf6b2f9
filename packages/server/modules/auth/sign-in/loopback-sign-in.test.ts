import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ProviderApp, publicUrl, startProviderApp } from '../../../testing/provider-app.ts';

const appUri = 'https://app.example/signed-in?tenant=1';
const ada = { sub: 'ada-1', email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' };

let house: ProviderApp;
beforeAll(async () => {
  house = await startProviderApp({ ALLOWED_REDIRECT_URIS: appUri });
});
afterAll(() => house.close());
beforeEach(() => {
  house.provider.account = ada;
});

const exchange = (body: unknown) => house.app.request('POST', '/api/v1/auth/token', { body });
const me = (token: string) => house.app.request('GET', '/api/v1/auth/me', { token });
const loopback = 'http://127.0.0.1:43210/signed-in';
const codeVerifier = randomBytes(32).toString('base64url');
const challenge = createHash('sha256').update(codeVerifier).digest('base64url');
const begin = (query: Record<string, string>) => `${publicUrl}/api/v1/auth/google?${new URLSearchParams(query)}`;
const bound = { redirect_uri: loopback, code_challenge: challenge, state: 'mine & only mine' };
const answerTo = async (query: Record<string, string>) => {
  const end = await house.browse().open(begin(query), (url) => url.startsWith(query.redirect_uri ?? ''));
  return Object.fromEntries(new URL(end.url).searchParams);
};

test('a program on loopback gets a code on any loopback port, with its own state, that is useless without its verifier', async () => {
  const { code = '', state } = await answerTo(bound);
  expect(state).toBe(bound.state);
  for (const stolen of [{}, { codeVerifier: randomBytes(32).toString('base64url') }, { codeVerifier: challenge }])
    expect((await exchange({ code, grant_type: 'authorization_code', ...stolen })).status).toBe(401);
  const whole = { code, grant_type: 'authorization_code', codeVerifier };
  const tokens = await exchange(whole);
  expect((await me(tokens.body.data.accessToken)).body.data.email).toBe(ada.email);
  expect((await exchange(whole)).status).toBe(401);
});

test('a program on loopback is refused a code that is not bound to a verifier', async () => {
  const answer = await house.app.request('GET', `/api/v1/auth/google?redirect_uri=${encodeURIComponent(loopback)}`);
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field: 'code_challenge' } });
  for (const weak of [{ code_challenge_method: 'plain' }, { code_challenge: 'short' }]) {
    const refused = await house.app.request('GET', `/api/v1/auth/google?${new URLSearchParams({ ...bound, ...weak })}`);
    expect(refused.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field: Object.keys(weak)[0] } });
  }
});

test.each([
  'http://localhost:43210/signed-in',
  'https://127.0.0.1:43210/signed-in',
  'http://127.0.0.2:43210/signed-in',
  'http://0.0.0.0:43210/signed-in',
  'http://127.0.0.1/signed-in',
  'http://127.0.0.1:0/signed-in',
  'http://127.0.0.1:70000/signed-in',
  'http://127.0.0.1:43210/signed-in/',
  'http://127.0.0.1:43210/signed-in?to=https://evil.example',
  'http://127.0.0.1:43210/signed-in#',
  'http://127.0.0.1:43210/other',
  'http://127.0.0.1:43210@evil.example/signed-in',
  'http://127.0.0.1.evil.example:43210/signed-in',
])('a program on loopback is not to be found at %s', async (redirectUri) => {
  const answer = await house.app.request(
    'GET',
    `/api/v1/auth/google?${new URLSearchParams({ ...bound, redirect_uri: redirectUri })}`,
  );
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field: 'redirect_uri' } });
});

test('a program on loopback gets its code only after the person has acted at the provider, not by a link that somebody sent', async () => {
  const asked = async (query: Record<string, string>) => {
    const answer = await house.browse().request('GET', begin(query));
    return new URL(answer.headers.get('location') ?? '').searchParams.get('prompt');
  };
  expect(await asked(bound)).toBe('login');
  expect(await asked({ redirect_uri: appUri })).toBeNull();
});

test('a program on loopback gets a refusal with its own state', async () => {
  house.provider.account = undefined;
  expect(await answerTo(bound)).toEqual({ error: 'access_denied', state: bound.state });
});

test('the code of a listed address may be bound too, and an unbound one is refused with a verifier', async () => {
  const { code = '' } = await answerTo({ redirect_uri: appUri, code_challenge: challenge });
  expect((await exchange({ code, grant_type: 'authorization_code' })).status).toBe(401);
  expect((await exchange({ code, grant_type: 'authorization_code', codeVerifier })).status).toBe(200);
  const { code: free = '' } = await answerTo({ redirect_uri: appUri });
  expect((await exchange({ code: free, grant_type: 'authorization_code', codeVerifier })).status).toBe(401);
  expect((await exchange({ code: free, grant_type: 'authorization_code' })).status).toBe(200);
});
