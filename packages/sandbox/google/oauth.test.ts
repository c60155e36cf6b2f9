import { createHash, createSign, createVerify, type JsonWebKey, randomBytes } from 'node:crypto';
import { UserRefreshClient } from 'google-auth-library';
import { allowInsecureRequests, authorizationCodeGrant, buildAuthorizationUrl, discovery } from 'openid-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GoogleSandbox, startGoogleSandbox } from './index.ts';

let sandbox: GoogleSandbox;
const callback = 'http://127.0.0.1:9/callback';

beforeEach(async () => {
  sandbox = await startGoogleSandbox({
    people: [{ email: 'ada@example.com', name: 'Ada' }],
    projects: [{ projectId: 'shop' }],
  });
});
afterEach(() => sandbox.stop());

async function post(
  path: string,
  form: Record<string, string>,
): Promise<{ status: number; body: Record<string, string> }> {
  const response = await fetch(sandbox.url + path, { method: 'POST', body: new URLSearchParams(form) });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

async function consent(extra: Record<string, string> = {}): Promise<URL> {
  const query = new URLSearchParams({
    client_id: 'sandbox-client',
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid email',
    state: 's1',
    access_type: 'offline',
    ...extra,
  });
  const response = await fetch(`${sandbox.url}/o/oauth2/v2/auth?${query}`, { redirect: 'manual' });
  expect(response.status).toBe(302);
  return new URL(response.headers.get('location')!);
}

const client = { client_id: 'sandbox-client', client_secret: 'sandbox-secret' };

describe('consent and code exchange', () => {
  it('a stock OpenID client signs in with PKCE and nonce, and the id token verifies against the published key', async () => {
    const config = await discovery(new URL(sandbox.url), client.client_id, client.client_secret, undefined, {
      execute: [allowInsecureRequests],
    });
    const verifier = randomBytes(32).toString('base64url');
    const url = buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: 'openid email profile',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      nonce: 'n-1',
      state: 'st',
      access_type: 'offline',
    });
    const response = await fetch(url, { redirect: 'manual' });
    const answer = await authorizationCodeGrant(config, new URL(response.headers.get('location')!), {
      pkceCodeVerifier: verifier,
      expectedNonce: 'n-1',
      expectedState: 'st',
    });
    expect(answer.claims()).toMatchObject({
      email: 'ada@example.com',
      email_verified: true,
      name: 'Ada',
      nonce: 'n-1',
    });
    const keys = (await (await fetch(`${sandbox.url}/oauth2/v3/certs`)).json()) as { keys: JsonWebKey[] };
    const [head, claims, signature] = answer.id_token!.split('.');
    const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`);
    expect(verify.verify({ key: keys.keys[0]!, format: 'jwk' }, signature!, 'base64url')).toBe(true);
  });

  it('a code is valid once, for its client, redirect and verifier only', async () => {
    const code = (await consent()).searchParams.get('code')!;
    const form = { grant_type: 'authorization_code', code, redirect_uri: callback, ...client };
    expect((await post('/token', form)).status).toBe(200);
    expect(await post('/token', form)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    const other = (await consent()).searchParams.get('code')!;
    const wrongRedirect = await post('/token', { ...form, code: other, redirect_uri: 'http://127.0.0.1:9/x' });
    expect(wrongRedirect.body.error).toBe('redirect_uri_mismatch');
    const challenged = (await consent({ code_challenge: 'abc', code_challenge_method: 'S256' })).searchParams.get(
      'code',
    )!;
    const wrongVerifier = await post('/token', { ...form, code: challenged, code_verifier: 'nope' });
    expect(wrongVerifier.body).toMatchObject({ error: 'invalid_grant', error_description: 'Invalid code verifier.' });
    expect((await post('/token', { ...form, client_secret: 'x' })).status).toBe(401);
  });

  it('a foreign redirect address is never redirected to', async () => {
    const query = `client_id=sandbox-client&response_type=code&redirect_uri=${encodeURIComponent('https://evil.example/')}`;
    const response = await fetch(`${sandbox.url}/o/oauth2/v2/auth?${query}`, { redirect: 'manual' });
    expect(response.status).toBe(400);
  });
});

describe('tokens', () => {
  it('revoked consent answers invalid_grant with the message of Google', async () => {
    const refreshToken = sandbox.control.issueRefreshToken('ada@example.com');
    const google = new UserRefreshClient({
      clientId: client.client_id,
      clientSecret: client.client_secret,
      refreshToken,
      endpoints: { oauth2TokenUrl: `${sandbox.url}/token` },
    });
    expect((await google.getAccessToken()).token).toMatch(/^ya29\./);
    sandbox.control.revokeConsent('ada@example.com');
    const answer = await post('/token', { grant_type: 'refresh_token', refresh_token: refreshToken, ...client });
    expect(answer).toEqual({
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
    });
  });

  it('revoking a refresh token kills its access tokens, and a second revocation is refused', async () => {
    const code = (await consent()).searchParams.get('code')!;
    const { body } = await post('/token', {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      ...client,
    });
    const info = await fetch(`${sandbox.url}/tokeninfo?access_token=${body.access_token}`);
    expect(await info.json()).toMatchObject({
      aud: 'sandbox-client',
      email: 'ada@example.com',
      access_type: 'offline',
    });
    expect((await post('/revoke', { token: body.refresh_token! })).status).toBe(200);
    expect(await post('/tokeninfo', { access_token: body.access_token! })).toEqual({
      status: 400,
      body: { error: 'invalid_token', error_description: 'Invalid Value' },
    });
    expect((await post('/revoke', { token: body.refresh_token! })).body.error).toBe('invalid_token');
  });

  it('the signed assertion of a service account gets a token, and one signed with another key does not', async () => {
    const key = sandbox.control.createServiceAccount('shop');
    const forged = sandbox.control.createServiceAccount('shop', 'other');
    const exchange = (privateKey: string) => {
      const assertion = signedAssertion(key.client_email, privateKey);
      return post('/token', { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
    };
    expect((await exchange(key.private_key)).body.access_token).toMatch(/^ya29\./);
    expect(await exchange(forged.private_key)).toEqual({
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' },
    });
  });

  it('an access token expires by the clock', async () => {
    const token = sandbox.control.issueAccessToken('ada@example.com', 'email', 0);
    const response = await fetch(`${sandbox.url}/v1/projects`, { headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } });
  });
});

function signedAssertion(email: string, privateKey: string): string {
  const now = Math.floor(Date.now() / 1000);
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: email, aud: `${sandbox.url}/token`, scope: 'datastore', iat: now, exp: now + 3600 };
  const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`;
}
