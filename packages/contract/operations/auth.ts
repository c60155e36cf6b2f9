import { z } from 'zod';
import { anyone, person } from '../access.ts';
import { api, done, list, ok, operation } from '../operation.ts';
import {
  jsonWebKeySet,
  refreshedTokens,
  refreshRequest,
  renewedCookies,
  session,
  signInMethods,
  tokenRequest,
  tokenSet,
  user,
} from '../schemas/auth.ts';
import { link, multilineText, pageQuery, pathId, text } from '../schemas/primitives.ts';

const tag = 'Authentication';
const redirect = { kind: 'redirect', status: 302 } as const;

export const startSignIn = operation({
  id: 'startSignIn',
  method: 'GET',
  path: api('/auth/google'),
  tag,
  summary: 'Begin signing in',
  description:
    "Redirects to the identity provider's consent screen (authorization code flow with PKCE, state and nonce).",
  access: anyone,
  rateLimit: 'auth',
  query: z.object({
    redirect_uri: link()
      .optional()
      .describe(
        'Where to return with a one-time code; must be on the allow-list. With `code_challenge` also `http://127.0.0.1:<port>/signed-in`, any port: a program on the machine of the person.',
      ),
    state: text({ min: 1, max: 512 })
      .optional()
      .describe('Returned together with the code, so that the caller can match the answer to its request.'),
    code_challenge: z
      .string()
      .max(43)
      .regex(/^[A-Za-z0-9_-]{43}$/)
      .optional()
      .describe(
        'PKCE: SHA-256 of a verifier, in base64url. The code then works only together with that `codeVerifier`.',
      ),
    code_challenge_method: z.enum(['S256']).optional().describe('`S256`; absent means the same.'),
    scope: z
      .enum(['identity'])
      .optional()
      .describe("`identity` asks only for the person's identity; absent: also for access to the person's projects."),
  }),
  success: redirect,
  errors: ['INVALID_STATE'],
});

export const finishSignIn = operation({
  id: 'finishSignIn',
  method: 'GET',
  path: api('/auth/google/callback'),
  tag,
  summary: 'Return from the identity provider',
  description:
    'Exchanges the code and redirects: to the `redirect_uri` of the start with a one-time code, or into the dashboard with session cookies.',
  access: anyone,
  rateLimit: 'auth',
  query: z.object({
    code: text({ min: 1, max: 4096 }).optional(),
    state: text({ min: 1, max: 2048 }).optional(),
    iss: text({ max: 2048 }).optional().describe('The issuer that answers, when the provider says so.'),
    error: text({ max: 200 }).optional().describe('Set by the provider when consent was refused.'),
    error_description: multilineText({ max: 2000 }).optional(),
  }),
  success: redirect,
  errors: ['UNAUTHORIZED', 'FORBIDDEN', 'INVALID_STATE'],
});

export const exchangeCode = operation({
  id: 'exchangeCode',
  method: 'POST',
  path: api('/auth/token'),
  tag,
  summary: 'Exchange a code for tokens',
  description: 'Takes the one-time code of the callback, or a code of the identity provider. Each code works once.',
  access: anyone,
  rateLimit: 'auth',
  body: tokenRequest,
  success: ok(tokenSet),
  errors: ['UNAUTHORIZED', 'FORBIDDEN'],
});

export const refreshTokens = operation({
  id: 'refreshTokens',
  method: 'POST',
  path: api('/auth/refresh'),
  tag,
  summary: 'Exchange a refresh token',
  description:
    'Gives a new access token and a new refresh token. The old refresh token is spent; using it again later revokes the whole family. A browser sends no body: its session cookies are renewed instead, and the tokens stay out of the answer.',
  access: anyone,
  rateLimit: 'auth',
  body: refreshRequest,
  bodyOptional: true,
  success: ok(z.union([refreshedTokens, renewedCookies])),
  errors: ['UNAUTHORIZED', 'FORBIDDEN'],
});

export const getMe = operation({
  id: 'getMe',
  method: 'GET',
  path: api('/auth/me'),
  tag,
  summary: 'Show the signed-in person',
  description: 'The caller and the organizations the caller belongs to.',
  access: person,
  success: ok(user),
  errors: [],
  etag: true,
});

export const logout = operation({
  id: 'logout',
  method: 'POST',
  path: api('/auth/logout'),
  tag,
  summary: 'Sign out',
  description: 'Revokes the access token and every refresh token of this sign-in at once.',
  access: person,
  success: done,
  errors: [],
});

export const listSessions = operation({
  id: 'listSessions',
  method: 'GET',
  path: api('/auth/sessions'),
  tag,
  summary: "List the caller's sessions",
  description: "The caller's valid sign-ins, newest first.",
  access: person,
  query: pageQuery,
  success: list(session),
  errors: [],
});

export const revokeSession = operation({
  id: 'revokeSession',
  method: 'DELETE',
  path: api('/auth/sessions/{sessionId}'),
  tag,
  summary: 'Revoke a session',
  description: 'Ends one sign-in of the caller; its tokens stop working at once.',
  access: person,
  params: z.object({ sessionId: pathId() }),
  success: done,
  errors: ['NOT_FOUND'],
});

export const signInLocally = operation({
  id: 'signInLocally',
  method: 'GET',
  path: '/auth/local',
  tag,
  summary: 'Sign in with the one-time link of a fresh installation',
  description:
    'The server prints the link when it starts. It works once, and not at all as soon as an identity provider is configured, unless the operator keeps it.',
  access: anyone,
  documented: false,
  rateLimit: 'auth',
  query: z.object({ token: text({ min: 1, max: 512 }) }),
  success: redirect,
  errors: ['UNAUTHORIZED'],
});

export const signInWithLink = operation({
  id: 'signInWithLink',
  method: 'POST',
  path: '/auth/local',
  tag,
  summary: 'Use the one-time link of a fresh installation',
  description:
    'What the page behind the link does when its button is pressed, and what the command line does. Looking at the link uses nothing up; this does. Answers with session cookies.',
  access: anyone,
  documented: false,
  rateLimit: 'auth',
  body: z.strictObject({ token: text({ min: 1, max: 512 }) }),
  success: done,
  errors: ['UNAUTHORIZED'],
});

export const getSignInMethods = operation({
  id: 'getSignInMethods',
  method: 'GET',
  path: api('/auth/methods'),
  tag,
  summary: 'Show how people can sign in',
  description: 'Which identity provider is configured, if any, and whether the printed link is accepted.',
  access: anyone,
  success: ok(signInMethods),
  errors: [],
});

export const getSigningKeys = operation({
  id: 'getSigningKeys',
  method: 'GET',
  path: '/.well-known/jwks.json',
  tag,
  summary: 'Publish the keys that verify access tokens',
  description: 'The public keys of RS256 access tokens as a JSON Web Key Set.',
  access: anyone,
  success: { kind: 'bare', status: 200, schema: jsonWebKeySet },
  errors: [],
});
