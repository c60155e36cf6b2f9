/** Google's OAuth 2.0 endpoints: consent (given at once), tokens, token info, revocation. */

import { createHash, verify } from 'node:crypto';
import type { OidcIssuer } from './oidc.ts';
import { OAuthError } from './respond.ts';
import type { GoogleState, OAuthClient } from './state.ts';
import type { AuthorizationCode, Grant, TokenStore } from './tokens.ts';

const codeSeconds = 600;
const jwtSecondsMax = 3600;
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export interface OAuthDependencies {
  readonly state: GoogleState;
  readonly tokens: TokenStore;
  readonly issuer: OidcIssuer;
}

/** Returns the address for the browser. A bad client or redirect never redirects. */
export function authorize(dependencies: OAuthDependencies, query: URLSearchParams): string {
  const { state, tokens } = dependencies;
  const client = state.clients.get(query.get('client_id') ?? '');
  if (client === undefined) throw new OAuthError('invalid_client', 'The OAuth client was not found.', 401);
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!mayRedirect(client, redirectUri)) {
    throw new OAuthError('redirect_uri_mismatch', `The redirect URI in the request, ${redirectUri}, does not match.`);
  }
  if (query.get('response_type') !== 'code') {
    throw new OAuthError('unsupported_response_type', `Invalid response_type: ${query.get('response_type')}`);
  }
  const email = query.get('login_hint') ?? [...state.people.keys()][0] ?? '';
  const target = new URL(redirectUri);
  if (query.get('state') !== null) target.searchParams.set('state', query.get('state')!);
  if (!state.people.has(email)) {
    target.searchParams.set('error', 'access_denied');
    return target.href;
  }
  const scope = query.get('scope') ?? '';
  const code: AuthorizationCode = {
    email,
    clientId: client.clientId,
    scope,
    redirectUri,
    nonce: query.get('nonce') ?? undefined,
    codeChallenge: query.get('code_challenge') ?? undefined,
    codeChallengeMethod: query.get('code_challenge_method') ?? undefined,
    offline: query.get('access_type') === 'offline',
    expiresAtMs: state.now() + codeSeconds * 1000,
  };
  target.searchParams.set('code', tokens.issueCode(code));
  target.searchParams.set('scope', scope);
  return target.href;
}

function mayRedirect(client: OAuthClient, redirectUri: string): boolean {
  if (client.redirectUris !== undefined) return client.redirectUris.includes(redirectUri);
  try {
    const { hostname } = new URL(redirectUri);
    return hostname === '127.0.0.1' || hostname === 'localhost' || hostname === '[::1]';
  } catch {
    return false;
  }
}

export function exchangeToken(
  dependencies: OAuthDependencies,
  form: URLSearchParams,
  basic: string | undefined,
): unknown {
  const grantType = form.get('grant_type');
  if (grantType === 'authorization_code') return exchangeCode(dependencies, form, basic);
  if (grantType === 'refresh_token') return exchangeRefresh(dependencies, form, basic);
  if (grantType === jwtBearer) return exchangeJwt(dependencies, form.get('assertion') ?? '');
  throw new OAuthError('unsupported_grant_type', `Invalid grant_type: ${grantType ?? ''}`);
}

function exchangeCode(dependencies: OAuthDependencies, form: URLSearchParams, basic: string | undefined): unknown {
  const { tokens, issuer, state } = dependencies;
  const client = authenticateClient(state, form, basic);
  const code = tokens.takeCode(form.get('code') ?? '');
  if (code === undefined || code.clientId !== client.clientId)
    throw new OAuthError('invalid_grant', 'Malformed auth code.');
  if (code.redirectUri !== form.get('redirect_uri')) throw new OAuthError('redirect_uri_mismatch', 'Bad Request');
  checkVerifier(code, form.get('code_verifier'));
  const refreshToken = code.offline ? tokens.issueRefresh(code) : undefined;
  return {
    access_token: tokens.issueAccess(code, state.accessTokenSeconds, refreshToken),
    expires_in: state.accessTokenSeconds,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    scope: code.scope,
    token_type: 'Bearer',
    ...(code.scope.split(' ').includes('openid') ? { id_token: issuer.idToken(state, code) } : {}),
  };
}

function checkVerifier(code: AuthorizationCode, verifier: string | null): void {
  if (code.codeChallenge === undefined) {
    if (verifier !== null) throw new OAuthError('invalid_grant', 'code_verifier or verifier is not needed.');
    return;
  }
  if (verifier === null) throw new OAuthError('invalid_grant', 'Missing code verifier.');
  const plain = code.codeChallengeMethod !== 'S256';
  const challenge = plain ? verifier : createHash('sha256').update(verifier).digest('base64url');
  if (challenge !== code.codeChallenge) throw new OAuthError('invalid_grant', 'Invalid code verifier.');
}

function exchangeRefresh(dependencies: OAuthDependencies, form: URLSearchParams, basic: string | undefined): unknown {
  const { tokens, state } = dependencies;
  const client = authenticateClient(state, form, basic);
  const refreshToken = form.get('refresh_token');
  if (!refreshToken) throw new OAuthError('invalid_request', 'Missing required parameter: refresh_token');
  const grant = tokens.refresh(refreshToken);
  if (grant === undefined) throw new OAuthError('invalid_grant', 'Token has been expired or revoked.');
  if (grant.clientId !== client.clientId) throw new OAuthError('unauthorized_client', 'Unauthorized', 401);
  return {
    access_token: tokens.issueAccess(grant, state.accessTokenSeconds, refreshToken),
    expires_in: state.accessTokenSeconds,
    scope: grant.scope,
    token_type: 'Bearer',
  };
}

function exchangeJwt(dependencies: OAuthDependencies, assertion: string): unknown {
  const { state, tokens, issuer } = dependencies;
  const [header, payload, signature] = assertion.split('.');
  if (header === undefined || payload === undefined || signature === undefined) {
    throw new OAuthError('invalid_grant', 'Bad Request');
  }
  const claims = decodeClaims(payload);
  const account = state.serviceAccounts.get(String(claims.iss));
  if (account === undefined) throw new OAuthError('invalid_grant', 'Invalid grant: account not found');
  const signed = Buffer.from(`${header}.${payload}`);
  if (!verify('RSA-SHA256', signed, account.publicKey, Buffer.from(signature, 'base64url'))) {
    throw new OAuthError('invalid_grant', 'Invalid JWT Signature.');
  }
  const nowSeconds = state.now() / 1000;
  const { iat, exp } = claims;
  if (
    typeof iat !== 'number' ||
    typeof exp !== 'number' ||
    exp < nowSeconds ||
    iat > nowSeconds + 300 ||
    exp - iat > jwtSecondsMax
  ) {
    throw new OAuthError(
      'invalid_grant',
      'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.',
    );
  }
  const audiences = [
    'https://oauth2.googleapis.com/token',
    'https://www.googleapis.com/oauth2/v4/token',
    `${issuer.url}/token`,
  ];
  if (!audiences.includes(String(claims.aud)))
    throw new OAuthError('invalid_grant', 'Invalid JWT: Failed audience check.');
  if (!claims.scope) throw new OAuthError('invalid_scope', 'Empty or missing scope not allowed.');
  const grant: Grant = { email: account.email, clientId: account.email, scope: String(claims.scope) };
  return {
    access_token: tokens.issueAccess(grant, state.accessTokenSeconds),
    expires_in: state.accessTokenSeconds,
    token_type: 'Bearer',
  };
}

function decodeClaims(payload: string): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
  } catch {
    throw new OAuthError('invalid_grant', 'Invalid JWT: Failed to parse claims.');
  }
}

function authenticateClient(state: GoogleState, form: URLSearchParams, basic: string | undefined): OAuthClient {
  let clientId = form.get('client_id') ?? '';
  let clientSecret = form.get('client_secret') ?? '';
  if (basic !== undefined) {
    const [id, secret] = Buffer.from(basic, 'base64').toString('utf8').split(':');
    clientId = decodeURIComponent(id ?? '');
    clientSecret = decodeURIComponent(secret ?? '');
  }
  const client = state.clients.get(clientId);
  if (client === undefined) throw new OAuthError('invalid_client', 'The OAuth client was not found.', 401);
  if (client.clientSecret !== clientSecret) throw new OAuthError('invalid_client', 'Unauthorized', 401);
  return client;
}

export function tokenInfo(dependencies: OAuthDependencies, accessToken: string | null): unknown {
  const { state, tokens } = dependencies;
  const token = accessToken === null ? undefined : tokens.access(accessToken);
  if (token === undefined) throw new OAuthError('invalid_token', 'Invalid Value');
  const person = state.people.get(token.email);
  const expiresSeconds = Math.floor(token.expiresAtMs / 1000);
  return {
    azp: token.clientId,
    aud: token.clientId,
    ...(person === undefined ? {} : { sub: person.sub }),
    scope: token.scope,
    exp: String(expiresSeconds),
    expires_in: String(expiresSeconds - Math.floor(state.now() / 1000)),
    email: token.email,
    email_verified: String(person?.emailVerified ?? true),
    access_type: token.refreshToken === undefined ? 'online' : 'offline',
  };
}

export function revoke(dependencies: OAuthDependencies, token: string | null): unknown {
  if (!token) throw new OAuthError('invalid_request', 'Missing required parameter: token');
  if (!dependencies.tokens.revoke(token)) throw new OAuthError('invalid_token', 'Token expired or revoked');
  return {};
}
