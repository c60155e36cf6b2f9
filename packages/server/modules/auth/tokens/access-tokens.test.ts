import { createHmac, createPublicKey } from 'node:crypto';
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  generateKeyPair,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { replaceSigningKey } from '../../../rotate-signing-key.ts';
import { signUp } from '../../../testing/people.ts';
import { openSession } from '../../../testing/sessions.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import { StoredKeyPairs } from './signing-keys.ts';

const secret = 'a-shared-secret-of-more-than-32-characters';
let app: TestApp;
let shared: TestApp;
beforeAll(async () => {
  [app, shared] = await Promise.all([startTestApp(), startTestApp({ JWT_ALGORITHM: 'HS256', JWT_SECRET: secret })]);
});
afterAll(() => Promise.all([app.close(), shared.close()]));

const me = (token: string, at = app) => at.request('GET', '/api/v1/auth/me', { token });
const publishedKeys = async () => (await app.request('GET', '/.well-known/jwks.json')).body;
const freshToken = async (at = app) => (await signUp(at, `p-${Math.random()}@example.com`)).token;

test('anyone can verify an RS256 token with the published keys', async () => {
  const token = await freshToken();
  const { payload } = await jwtVerify(token, createLocalJWKSet(await publishedKeys()), {
    issuer: 'holdfast',
    audience: 'holdfast-api',
    algorithms: ['RS256'],
  });
  expect(payload.sid).toMatch(/^ses_/);
  const [key] = (await publishedKeys()).keys;
  expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
});

test('with HS256 the secret is taken as UTF-8 and no key is published', async () => {
  const token = await freshToken(shared);
  const [header, payload, signature] = token.split('.');
  expect(createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')).toBe(signature);
  expect((await shared.request('GET', '/.well-known/jwks.json')).body).toEqual({ keys: [] });
  expect((await me(token, shared)).status).toBe(200);
});

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const hmacToken = (header: object, claims: JWTPayload, key: string | Buffer) => {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
};

const forgeries: Record<string, (token: string) => Promise<string> | string> = {
  'with changed claims': (token) => {
    const [header, , signature] = token.split('.');
    return `${header}.${encode({ ...decodeJwt(token), email: 'owner@example.com' })}.${signature}`;
  },
  'with a changed signature': (token) => `${token.slice(0, -8)}${token.endsWith('AAAAAAAA') ? 'BBBBBBBB' : 'AAAAAAAA'}`,
  'cut short': (token) => token.slice(0, -1),
  'with the algorithm none': (token) => `${encode({ alg: 'none', typ: 'JWT' })}.${encode(decodeJwt(token))}.`,
  'with the algorithm none and the signature left': (token) =>
    `${encode({ alg: 'none' })}.${token.split('.').slice(1).join('.')}`,
  'HS256 keyed with the public key as PEM': async (token) => {
    const [jwk] = (await publishedKeys()).keys;
    const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    return hmacToken({ alg: 'HS256', typ: 'JWT', kid: jwk.kid }, decodeJwt(token), pem as string);
  },
  'HS256 keyed with the public key as JSON': async (token) => {
    const [jwk] = (await publishedKeys()).keys;
    return hmacToken({ alg: 'HS256', typ: 'JWT', kid: jwk.kid }, decodeJwt(token), JSON.stringify(jwk));
  },
  'signed by a key of its own': async (token) => {
    const { privateKey } = await generateKeyPair('RS256');
    const header = { ...decodeProtectedHeader(token), alg: 'RS256' };
    return new SignJWT(decodeJwt(token)).setProtectedHeader(header).sign(privateKey);
  },
  'naming a key that does not exist': async (token) => {
    const { privateKey } = await generateKeyPair('RS256');
    return new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'RS256', kid: 'key_none', typ: 'JWT' })
      .sign(privateKey);
  },
  'with a header that is no JSON': (token) => `AAAA.${token.split('.').slice(1).join('.')}`,
  'of five parts': (token) => `${token}.x.y`,
};

test.each(Object.keys(forgeries))('a token %s is refused', async (name) => {
  const token = await freshToken();
  expect((await me(token)).status).toBe(200);
  const answer = await me(await (forgeries[name] as (token: string) => Promise<string> | string)(token));
  expect([answer.status, answer.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
});

test.each<[string, (claims: JWTPayload) => JWTPayload]>([
  ['another issuer', (claims) => ({ ...claims, iss: 'somebody' })],
  ['another audience', (claims) => ({ ...claims, aud: 'somebody' })],
  ['no audience', ({ aud: _, ...claims }) => claims],
  ['no expiry', ({ exp: _, ...claims }) => claims],
  ['no session', ({ sid: _, ...claims }) => claims],
  ['a session of somebody else', (claims) => ({ ...claims, sub: 'usr_someone' })],
  ['a session that never was', (claims) => ({ ...claims, sid: 'ses_none' })],
])('a token signed with the right key but %s is refused', async (_name, change) => {
  const token = await freshToken(shared);
  const header = { alg: 'HS256', typ: 'JWT' };
  expect((await me(hmacToken(header, decodeJwt(token), secret), shared)).status).toBe(200);
  expect((await me(hmacToken(header, change(decodeJwt(token)), secret), shared)).status).toBe(401);
});

test('the other algorithm is refused in both directions', async () => {
  const [rs, hs] = await Promise.all([freshToken(app), freshToken(shared)]);
  expect((await me(hs, app)).status).toBe(401);
  expect((await me(rs, shared)).status).toBe(401);
});

test('a token is valid for its hour and not a second longer', async () => {
  const other = await startTestApp({ ACCESS_TOKEN_TTL: '3600' });
  try {
    const { id } = await signUp(other, 'hour@example.com');
    const { accessToken } = await openSession(other, id);
    other.clock.advance(3_590_000);
    expect((await me(accessToken, other)).status).toBe(200);
    other.clock.advance(11_000);
    const answer = await me(accessToken, other);
    expect([answer.status, answer.body.error.message]).toEqual([401, 'The access token has expired.']);
  } finally {
    await other.close();
  }
});

test('after a rotation a new key signs and the old one verifies until its tokens have expired', {
  tags: 'long',
}, async () => {
  const other = await startTestApp();
  try {
    const { id } = await signUp(other, 'rotation@example.com');
    const before = await openSession(other, id);
    await replaceSigningKey({ ...other.platform.config, LOG_LEVEL: 'silent' });
    const keys = new StoredKeyPairs(other.platform);
    // A running process looks up an unknown key at most once a second.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const after = (await signUp(other, 'later@example.com')).token;
    expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(before.accessToken).kid);
    expect((await me(before.accessToken, other)).status).toBe(200);
    expect((await me(after, other)).status).toBe(200);
    expect((await other.request('GET', '/.well-known/jwks.json')).body.keys.length).toBe(2);
    await keys.removeExpired(other.clock.now());
    expect((await keys.published()).length).toBe(2);
    other.clock.advance(3_600_000 + 180_000);
    await keys.removeExpired(new Date(other.clock.now().getTime() - 3_600_000));
    expect((await new StoredKeyPairs(other.platform).published()).map((key) => key.kid)).toEqual([
      decodeProtectedHeader(after).kid,
    ]);
  } finally {
    await other.close();
  }
});

test('keys are rotated by age, and ten processes that start at once agree on one', async () => {
  const other = await startTestApp();
  try {
    const processes = Array.from({ length: 10 }, () => new StoredKeyPairs(other.platform));
    const ids = await Promise.all(processes.map(async (keys) => (await keys.current()).id));
    expect(new Set(ids).size).toBe(1);
    const day = 86_400_000;
    const [keys] = processes as [StoredKeyPairs];
    await keys.rotateIfOlderThan(new Date(other.clock.now().getTime() - 90 * day));
    expect((await keys.current()).id).toBe(ids[0]);
    other.clock.advance(91 * day);
    await keys.rotateIfOlderThan(new Date(other.clock.now().getTime() - 90 * day));
    expect((await keys.current()).id).not.toBe(ids[0]);
  } finally {
    await other.close();
  }
});
