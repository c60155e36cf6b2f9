import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export interface HostileProvider {
  readonly issuer: string;
  readonly publicJwk: JWK;
  /** Makes the id token of the next answer. */
  idToken: (
    base: Record<string, unknown>,
    sign: (claims: Record<string, unknown>) => Promise<string>,
  ) => Promise<string>;
  /** Replaces the token endpoint's answer, when set. */
  tokenAnswer: { status: number; body: unknown } | undefined;
  /** What the userinfo endpoint returns. */
  userinfo: Record<string, unknown>;
  /** How often the discovery document will still fail. */
  discoveryFailures: number;
  /** How often the token endpoint was called. */
  tokenRequests: number;
  /** The last request to the token endpoint. */
  lastTokenRequest: URLSearchParams;
  close(): Promise<void>;
}

const keyId = 'hostile';

/** The provider's secrets, which must never appear anywhere. */
export const providerSecrets = {
  accessToken: 'planted-provider-access-token',
  refreshToken: 'planted-provider-refresh-token',
} as const;

/** A provider that returns whatever the test wants, and correct answers by default. */
export async function startHostileProvider(clientId: string): Promise<HostileProvider> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const publicJwk = { ...(await exportJWK(publicKey)), kid: keyId, alg: 'RS256', use: 'sig' };
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sign = (claims: Record<string, unknown>) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: keyId }).sign(privateKey);
  const state: HostileProvider = {
    issuer,
    publicJwk,
    idToken: (base) => sign(base),
    tokenAnswer: undefined,
    userinfo: {},
    discoveryFailures: 0,
    tokenRequests: 0,
    lastTokenRequest: new URLSearchParams(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const answers: Record<string, () => Promise<{ status: number; body: unknown }>> = {
    '/.well-known/openid-configuration': async () => {
      if (state.discoveryFailures-- > 0) return { status: 503, body: {} };
      return { status: 200, body: discovery(issuer) };
    },
    '/userinfo': async () => ({ status: 200, body: state.userinfo }),
    '/jwks': async () => ({ status: 200, body: { keys: [publicJwk] } }),
    '/token': async () => {
      state.tokenRequests++;
      if (state.tokenAnswer) return state.tokenAnswer;
      const nowSeconds = Math.floor(Date.now() / 1000);
      const base = {
        iss: issuer,
        aud: clientId,
        sub: 'mallory',
        email: 'mallory@example.com',
        email_verified: true,
        name: 'Mallory',
        iat: nowSeconds,
        exp: nowSeconds + 300,
      };
      const body = {
        access_token: providerSecrets.accessToken,
        token_type: 'Bearer',
        expires_in: 300,
        refresh_token: providerSecrets.refreshToken,
        id_token: await state.idToken(base, sign),
      };
      return { status: 200, body };
    },
  };
  server.on('request', (request, response) => {
    const answer = answers[new URL(request.url ?? '/', issuer).pathname];
    if (!answer) return void response.writeHead(404).end();
    if (request.method === 'POST') {
      text(request).then((body) => {
        state.lastTokenRequest = new URLSearchParams(body);
      });
    }
    answer().then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  return state;
}

function discovery(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    userinfo_endpoint: `${issuer}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    // A provider that claims to support unsafe algorithms.
    id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
    code_challenge_methods_supported: ['S256'],
  };
}
