/** The OpenID Connect part of the same accounts: discovery, keys, id tokens, user info. */

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { GoogleState, Person } from './state.ts';
import type { AuthorizationCode } from './tokens.ts';

const idTokenSeconds = 3600;

export class OidcIssuer {
  readonly url: string;
  #made: { privateKey: KeyObject; jwk: Record<string, unknown> } | undefined;

  constructor(url: string) {
    this.url = url;
  }

  /** Made at the first sign-in: it takes longer than starting the sandbox, and most never need it. */
  get #key(): { privateKey: KeyObject; jwk: Record<string, unknown> } {
    if (this.#made) return this.#made;
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = publicKey.export({ format: 'jwk' });
    const kid = createHash('sha256').update(String(jwk.n)).digest('hex').slice(0, 40);
    this.#made = { privateKey, jwk: { ...jwk, kid, alg: 'RS256', use: 'sig' } };
    return this.#made;
  }

  discovery(): unknown {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/o/oauth2/v2/auth`,
      token_endpoint: `${this.url}/token`,
      userinfo_endpoint: `${this.url}/v1/userinfo`,
      revocation_endpoint: `${this.url}/revoke`,
      jwks_uri: `${this.url}/oauth2/v3/certs`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      scopes_supported: ['openid', 'email', 'profile'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      claims_supported: ['aud', 'email', 'email_verified', 'exp', 'iat', 'iss', 'name', 'picture', 'sub'],
      code_challenge_methods_supported: ['plain', 'S256'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    };
  }

  keys(): unknown {
    return { keys: [this.#key.jwk] };
  }

  idToken(state: GoogleState, code: AuthorizationCode): string {
    const person = state.people.get(code.email)!;
    const issuedSeconds = Math.floor(state.now() / 1000);
    const claims = {
      iss: this.url,
      azp: code.clientId,
      aud: code.clientId,
      ...userInfo(person, code.scope),
      ...(code.nonce === undefined ? {} : { nonce: code.nonce }),
      iat: issuedSeconds,
      exp: issuedSeconds + idTokenSeconds,
    };
    const header = { alg: 'RS256', kid: this.#key.jwk.kid, typ: 'JWT' };
    const signed = `${encodePart(header)}.${encodePart(claims)}`;
    return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), this.#key.privateKey).toString('base64url')}`;
  }
}

export function userInfo(person: Person, scope: string): Record<string, unknown> {
  const scopes = new Set(scope.split(' '));
  return {
    sub: person.sub,
    ...(scopes.has('email') ? { email: person.email, email_verified: person.emailVerified } : {}),
    ...(scopes.has('profile') ? { name: person.name, picture: person.picture } : {}),
  };
}

function encodePart(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
