/** Codes, access tokens and refresh tokens: issued, expiring, revocable. They end with the process. */

import { randomBytes } from 'node:crypto';

export interface Grant {
  readonly email: string;
  readonly clientId: string;
  readonly scope: string;
}

export interface AuthorizationCode extends Grant {
  readonly redirectUri: string;
  readonly nonce: string | undefined;
  readonly codeChallenge: string | undefined;
  readonly codeChallengeMethod: string | undefined;
  readonly offline: boolean;
  readonly expiresAtMs: number;
}

export interface AccessToken extends Grant {
  readonly expiresAtMs: number;
  /** The refresh token it came from; revoking either revokes both, as with Google. */
  readonly refreshToken: string | undefined;
}

export class TokenStore {
  readonly #codes = new Map<string, AuthorizationCode>();
  readonly #access = new Map<string, AccessToken>();
  readonly #refresh = new Map<string, Grant>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  issueCode(code: AuthorizationCode): string {
    const value = `4/${randomBytes(32).toString('base64url')}`;
    this.#codes.set(value, code);
    return value;
  }

  /** A code works once. */
  takeCode(value: string): AuthorizationCode | undefined {
    const code = this.#codes.get(value);
    this.#codes.delete(value);
    return code !== undefined && code.expiresAtMs > this.#now() ? code : undefined;
  }

  issueAccess(grant: Grant, seconds: number, refreshToken?: string): string {
    const value = `ya29.${randomBytes(48).toString('base64url')}`;
    const { email, clientId, scope } = grant;
    this.#access.set(value, { email, clientId, scope, refreshToken, expiresAtMs: this.#now() + seconds * 1000 });
    return value;
  }

  issueRefresh(grant: Grant): string {
    const value = `1//${randomBytes(40).toString('base64url')}`;
    this.#refresh.set(value, { email: grant.email, clientId: grant.clientId, scope: grant.scope });
    return value;
  }

  access(value: string): AccessToken | undefined {
    const token = this.#access.get(value);
    if (token === undefined || token.expiresAtMs > this.#now()) return token;
    this.#access.delete(value);
    return undefined;
  }

  refresh(value: string): Grant | undefined {
    return this.#refresh.get(value);
  }

  /** Revokes a token and everything from the same consent. False for an unknown token. */
  revoke(value: string): boolean {
    const refreshToken = this.#refresh.has(value) ? value : this.access(value)?.refreshToken;
    const known = this.#access.delete(value) || refreshToken !== undefined;
    if (refreshToken !== undefined) {
      this.#refresh.delete(refreshToken);
      for (const [name, token] of this.#access) if (token.refreshToken === refreshToken) this.#access.delete(name);
    }
    return known;
  }

  /** The person withdraws every consent, as on their Google account page. */
  revokePerson(email: string): void {
    for (const [name, token] of this.#access) if (token.email === email) this.#access.delete(name);
    for (const [name, grant] of this.#refresh) if (grant.email === email) this.#refresh.delete(name);
  }

  /** Expires access tokens at once while the consent stays: what an hour of waiting does. */
  expireAccessTokens(): void {
    this.#access.clear();
  }
}
