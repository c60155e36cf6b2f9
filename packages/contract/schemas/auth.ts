import { z } from 'zod';
import { roles } from '../access.ts';
import { email, identifier, integer, link, text, timestamp } from './primitives.ts';

const tokenLifetimeSeconds = integer({ min: 1, max: 31_536_000 }).describe('Seconds until the access token expires.');

const tokenLengthMax = 8192;
const accessToken = z.jwt().max(tokenLengthMax).describe('A JWT for `Authorization: Bearer`.');
const refreshToken = text({ min: 1, max: 512 }).describe('Opaque; exchanged once for the next pair of tokens.');

export const refreshedTokens = z
  .object({ accessToken, refreshToken, expiresIn: tokenLifetimeSeconds })
  .meta({ id: 'RefreshedTokens', description: 'The next pair of tokens.' });

export const renewedCookies = z
  .object({ expiresIn: tokenLifetimeSeconds })
  .meta({ id: 'RenewedCookies', description: 'The session cookies of a browser were renewed.' });

export const tokenSet = z
  .object({ accessToken, refreshToken, expiresIn: tokenLifetimeSeconds, tokenType: z.literal('Bearer') })
  .meta({ id: 'TokenSet', description: 'What a sign-in yields.' });

export const user = z
  .object({
    id: identifier('usr'),
    email: email(),
    name: text({ max: 200 }),
    picture: link().nullable().describe('URL of the avatar.'),
    organizations: z
      .array(z.object({ id: identifier('org'), name: text({ max: 100 }), role: z.enum(roles) }))
      .max(1000)
      .describe('Memberships.'),
    createdAt: timestamp(),
  })
  .meta({ id: 'User', description: 'The signed-in person.' });

export const session = z
  .object({
    id: identifier('ses'),
    createdAt: timestamp(),
    lastUsedAt: timestamp(),
    ip: text({ max: 64 }).nullable(),
    userAgent: text({ max: 1000 }).nullable(),
    current: z.boolean().describe('Whether this call was made with the session.'),
  })
  .meta({ id: 'Session', description: 'One valid sign-in.' });

export const signInMethods = z
  .object({
    provider: z
      .object({ kind: z.enum(['google', 'other']), host: text({ max: 255 }) })
      .nullable()
      .describe('The identity provider, begun at `/auth/google`.'),
    local: z.boolean().describe('Whether the one-time link the server prints is accepted.'),
  })
  .meta({ id: 'SignInMethods', description: 'How people can sign in.' });

const jsonWebKey = z
  .object({
    kty: z.literal('RSA'),
    kid: text({ max: 100 }),
    use: z.literal('sig'),
    alg: z.literal('RS256'),
    n: text({ max: 2000 }),
    e: text({ max: 20 }),
  })
  .meta({ id: 'JsonWebKey', description: 'A public key that verifies access tokens.' });

export const jsonWebKeySet = z
  .object({ keys: z.array(jsonWebKey).max(20) })
  .meta({ id: 'JsonWebKeySet', description: 'Empty when tokens are signed with a shared secret (HS256).' });

/** Valid only after the sign-in page has redirected back; either the service's own code or the provider's. */
export const tokenRequest = z.strictObject({
  code: text({ min: 1, max: 4096 }).describe(
    'The one-time code from the callback, or a code of the identity provider.',
  ),
  grant_type: z.literal('authorization_code'),
  redirectUri: link().optional().describe("The redirect URI the provider's code was issued for."),
  codeVerifier: text({ min: 43, max: 128 })
    .optional()
    .describe("The PKCE verifier that the code was issued for, the service's own or the provider's."),
});

/** Room for an access token too: sent by mistake, it is refused like any other wrong token. */
export const refreshRequest = z.strictObject({
  refreshToken: text({ min: 1, max: tokenLengthMax }).describe('From the last answer; each is exchanged once.'),
});
