/** Bearer tokens for Google's APIs. */

import { assertionGrant, googleOauthOrigin, type ServiceAccountKey, signAssertion } from '../../../google/assertion.ts';
import { minuteMs } from '../../../time/durations.ts';
import { GrpcError, grpcCode } from './status.ts';

export interface Credentials {
  /** The value of the authorization header. */
  authorization(signal?: AbortSignal): Promise<string>;
  /** Forget the token at hand: the server refused it. */
  invalidate(): void;
}

const scope = 'https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/datastore';
/** Tokens are renewed this long before they expire, so that none expires in transit. */
const expiryMarginMs = 2 * minuteMs;
const tokenTimeoutMs = 20_000;

/** Emulators take this token for the owner of everything. */
export function emulatorCredentials(): Credentials {
  return { authorization: async () => 'Bearer owner', invalidate: () => undefined };
}

export function serviceAccountCredentials(key: ServiceAccountKey, oauthOrigin = googleOauthOrigin): Credentials {
  return new TokenCredentials(oauthOrigin, () => ({
    grant_type: assertionGrant,
    assertion: assertionOf(key, oauthOrigin),
  }));
}

export interface RefreshTokenGrant {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly refreshToken: string;
}

export function refreshTokenCredentials(grant: RefreshTokenGrant, oauthOrigin = googleOauthOrigin): Credentials {
  return new TokenCredentials(oauthOrigin, () => ({
    grant_type: 'refresh_token',
    client_id: grant.clientId,
    client_secret: grant.clientSecret,
    refresh_token: grant.refreshToken,
  }));
}

/** A token that the caller manages. */
export function accessTokenCredentials(getToken: () => Promise<string>): Credentials {
  return { authorization: async () => `Bearer ${await getToken()}`, invalidate: () => undefined };
}

class TokenCredentials implements Credentials {
  readonly #origin: string;
  readonly #form: () => Record<string, string>;
  #token: { header: string; staleAtMs: number } | undefined;
  #pending: Promise<string> | undefined;

  constructor(origin: string, form: () => Record<string, string>) {
    this.#origin = origin;
    this.#form = form;
  }

  async authorization(): Promise<string> {
    if (this.#token !== undefined && performance.now() < this.#token.staleAtMs) return this.#token.header;
    // Many calls start at once; one requests the token, and all share it.
    this.#pending ??= this.#exchange().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  invalidate(): void {
    this.#token = undefined;
  }

  async #exchange(): Promise<string> {
    const { status, body } = await postForm(`${this.#origin}/token`, this.#form());
    if (status === 200 && typeof body.access_token === 'string') {
      const lifetimeMs = Number(body.expires_in ?? 0) * 1000;
      const header = `Bearer ${body.access_token}`;
      this.#token = { header, staleAtMs: performance.now() + lifetimeMs - Math.min(expiryMarginMs, lifetimeMs / 2) };
      return header;
    }
    const reason = `${String(body.error ?? status)}: ${String(body.error_description ?? 'no token was issued')}`;
    const passing = status === 429 || status >= 500;
    throw new GrpcError(passing ? grpcCode.UNAVAILABLE : grpcCode.UNAUTHENTICATED, reason);
  }
}

async function postForm(
  url: string,
  form: Record<string, string>,
): Promise<{ status: number; body: Record<string, unknown> }> {
  try {
    const signal = AbortSignal.timeout(tokenTimeoutMs);
    const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form), signal, redirect: 'error' });
    const text = await response.text();
    return { status: response.status, body: parseObject(text) };
  } catch (error) {
    throw new GrpcError(grpcCode.UNAVAILABLE, 'the token endpoint did not answer', { cause: error });
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function assertionOf(key: ServiceAccountKey, oauthOrigin: string): string {
  try {
    return signAssertion(key, { audience: `${oauthOrigin}/token`, scope });
  } catch (error) {
    throw new GrpcError(grpcCode.UNAUTHENTICATED, 'the service account key cannot sign', { cause: error });
  }
}
