import * as oidc from 'openid-client';
import { z } from 'zod';
import { Problem } from '../../../platform/problem.ts';

/** A person as the identity provider vouches for them. */
export interface ProviderIdentity {
  /** `<issuer> <subject>`: what the person is known by, whatever their e-mail address becomes. */
  subject: string;
  email: string;
  emailVerified: boolean;
  name: string;
  picture: string | null;
  refreshToken: string | null;
}

const emailAddress = z.email().max(254);
const pictureAddress = z.url({ protocol: /^https?$/ }).max(2048);
const nameLengthMax = 200;

/** Reads the id token, and asks the userinfo endpoint when the token alone does not name an e-mail address. */
export async function readIdentity(
  configuration: oidc.Configuration,
  tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
): Promise<ProviderIdentity> {
  const idToken = tokens.claims();
  if (!idToken) throw new Problem('UNAUTHORIZED', 'The identity provider sent no id token.');
  const hasProfile = typeof idToken.email === 'string' && typeof idToken.name === 'string';
  const asks = !hasProfile && configuration.serverMetadata().userinfo_endpoint !== undefined;
  const profile = asks ? await oidc.fetchUserInfo(configuration, tokens.access_token, idToken.sub) : {};
  const claims: Record<string, unknown> = { ...profile, ...idToken };
  // Whoever tells the address also tells whether it was verified: one source for both.
  const vouching: Record<string, unknown> = idToken.email === undefined ? profile : idToken;
  const email = emailAddress.safeParse(vouching.email);
  if (!email.success) throw new Problem('UNAUTHORIZED', 'The identity provider did not tell an e-mail address.');
  return {
    subject: `${idToken.iss} ${idToken.sub}`,
    email: email.data,
    emailVerified: vouching.email_verified === true || vouching.email_verified === 'true',
    name: displayName(claims.name) ?? email.data.split('@')[0] ?? email.data,
    picture: pictureAddress.safeParse(claims.picture).data ?? null,
    refreshToken: tokens.refresh_token ?? null,
  };
}

function displayName(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  return (
    value
      .replace(/\p{Cc}/gu, ' ')
      .toWellFormed()
      .trim()
      .slice(0, nameLengthMax)
      .toWellFormed() || undefined
  );
}
