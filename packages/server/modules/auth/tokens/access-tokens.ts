import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../../platform/clock.ts';
import { Problem } from '../../../platform/problem.ts';
import type { SigningKeys } from './signing-keys.ts';

export interface AccessTokenClaims {
  userId: string;
  sessionId: string;
  email: string;
  name: string;
  organizations: string[];
}

export interface VerifiedToken {
  userId: string;
  sessionId: string;
  expiresAtMs: number;
}

const issuer = 'holdfast';
const audience = 'holdfast-api';
const verifiedMax = 10_000;

/**
 * Signs and verifies access tokens. The verifier accepts only the configured algorithm, our issuer and our audience. A
 * verified token is remembered until it expires, because checking its signature costs more than the rest of a call.
 * Whether its session is still open is read from the database every time.
 */
export class AccessTokens {
  readonly #keys: SigningKeys;
  readonly #clock: Clock;
  readonly #lifetimeSeconds: number;
  readonly #verified = new Map<string, VerifiedToken>();

  constructor(keys: SigningKeys, clock: Clock, lifetimeSeconds: number) {
    this.#keys = keys;
    this.#clock = clock;
    this.#lifetimeSeconds = lifetimeSeconds;
  }

  get lifetimeSeconds(): number {
    return this.#lifetimeSeconds;
  }

  async sign(claims: AccessTokenClaims, tokenId: string): Promise<string> {
    const key = await this.#keys.current();
    const issuedAt = Math.floor(this.#clock.now().getTime() / 1000);
    return new SignJWT({
      email: claims.email,
      name: claims.name,
      organizations: claims.organizations,
      sid: claims.sessionId,
    })
      .setProtectedHeader({ alg: this.#keys.algorithm, typ: 'JWT', ...(key.id ? { kid: key.id } : {}) })
      .setSubject(claims.userId)
      .setJti(tokenId)
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + this.#lifetimeSeconds)
      .sign(key.key);
  }

  async verify(token: string): Promise<VerifiedToken> {
    const nowMs = this.#clock.now().getTime();
    const mark = hash('sha256', token, 'base64');
    const known = this.#verified.get(mark);
    if (known && known.expiresAtMs > nowMs) return known;
    const verified = read((await this.#check(token)).payload);
    if (this.#verified.size >= verifiedMax) this.#verified.clear();
    this.#verified.set(mark, verified);
    return verified;
  }

  async #check(token: string) {
    try {
      return await jwtVerify(token, (header) => this.#keys.verifying(header.kid), {
        algorithms: [this.#keys.algorithm],
        issuer,
        audience,
        typ: 'JWT',
        requiredClaims: ['sub', 'sid', 'jti', 'exp', 'iat'],
        currentDate: this.#clock.now(),
      });
    } catch (error) {
      if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) throw error;
      const expired = error instanceof errors.JWTExpired;
      throw new Problem('UNAUTHORIZED', expired ? 'The access token has expired.' : 'The access token is not valid.', {
        cause: error,
      });
    }
  }
}

function read(payload: JWTPayload): VerifiedToken {
  if (typeof payload.sub !== 'string' || typeof payload.sid !== 'string' || typeof payload.exp !== 'number') {
    throw new Problem('UNAUTHORIZED', 'The access token is not valid.');
  }
  return { userId: payload.sub, sessionId: payload.sid, expiresAtMs: payload.exp * 1000 };
}
