import { sign } from 'node:crypto';

export interface ServiceAccountKey {
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly project_id?: string;
}

/**
 * Google's token endpoint. A key file names one too, which is ignored: otherwise whoever supplies a key could choose
 * whom we call.
 */
export const googleOauthOrigin = 'https://oauth2.googleapis.com';
export const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const assertionSeconds = 3600;

/** The signed assertion with which a service account gets a token. Throws when the key cannot sign. */
export function signAssertion(key: ServiceAccountKey, about: { audience: string; scope: string }): string {
  const issuedSeconds = Math.floor(Date.now() / 1000);
  const header = { alg: 'RS256', typ: 'JWT', ...(key.private_key_id ? { kid: key.private_key_id } : {}) };
  const claims = {
    iss: key.client_email,
    scope: about.scope,
    aud: about.audience,
    iat: issuedSeconds,
    exp: issuedSeconds + assertionSeconds,
  };
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key.private_key).toString('base64url')}`;
}
