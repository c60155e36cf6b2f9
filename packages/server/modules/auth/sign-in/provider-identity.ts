import * as oidc from 'openid-client';
import { z } from 'zod';
import { Problem } from '../../../platform/problem.ts';

/** A person as confirmed by the identity provider. */
export interface ProviderIdentity {
  /** `<issuer> <subject>`: identifies the person even if their e-mail address changes. */
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

/** Reads the id token. Asks the userinfo endpoint if the token has no e-mail address. */
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
  // The address and whether it is verified must come from the same source.
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
