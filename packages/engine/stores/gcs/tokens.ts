import { assertionGrant, googleOauthOrigin, signAssertion } from '../../google/assertion.ts';
import { minuteMs } from '../../time/durations.ts';
import { AttemptError } from '../attempt.ts';
import type { StoreNetwork } from '../network.ts';
import type { GcsCredentials } from './credentials.ts';
import { ServiceError } from './errors.ts';
import { readDocument, send } from './http.ts';

const scope = 'https://www.googleapis.com/auth/devstorage.full_control';
/** How long a token from outside is used before it is asked for again. */
const outsideTokenMs = minuteMs;
/** A token is renewed before it ends, so that none expires on its way. */
const expiryMarginMs = 2 * minuteMs;
const lifetimeSecondsMax = 86_400;
/** A token that is refused while it is this young will not be better the next time. */
const youngMs = minuteMs;
const tokenPattern = /^[\x21-\x7e]{1,16384}$/;

interface Token {
  value: string;
  gotAtMs: number;
  staleAtMs: number;
}

/** Bearer tokens for one store. `tokenUrl` replaces Google's address, by the operator; a key file has no say in it. */
export class TokenSource {
  readonly #network: StoreNetwork;
  readonly #credentials: GcsCredentials;
  readonly #tokenUrl: string;
  #token: Token | undefined;
  #pending: Promise<string> | undefined;

  constructor(network: StoreNetwork, credentials: GcsCredentials, tokenUrl = `${googleOauthOrigin}/token`) {
    this.#network = network;
    this.#credentials = credentials;
    this.#tokenUrl = tokenUrl;
  }

  async get(signal: AbortSignal): Promise<string> {
    if (this.#token && performance.now() < this.#token.staleAtMs) return this.#token.value;
    // Many calls start at once; one of them asks, all share the answer.
    this.#pending ??= this.#renew(signal).finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** The service refused the token. True when another may be taken: this one had been in use for a while. */
  refused(value: string): boolean {
    const token = this.#token;
    if (token?.value !== value) return token !== undefined;
    this.#token = undefined;
    return performance.now() - token.gotAtMs > youngMs;
  }

  async #renew(signal: AbortSignal): Promise<string> {
    const { value, lifetimeMs } = await this.#ask(signal);
    if (!tokenPattern.test(value)) throw notAToken();
    const gotAtMs = performance.now();
    const staleAtMs = gotAtMs + lifetimeMs - Math.min(expiryMarginMs, lifetimeMs / 2);
    this.#token = { value, gotAtMs, staleAtMs };
    return value;
  }

  async #ask(signal: AbortSignal): Promise<{ value: string; lifetimeMs: number }> {
    if (this.#credentials.type === 'access_token')
      return { value: await this.#credentials.accessToken(), lifetimeMs: outsideTokenMs };
    const url = new URL(this.#tokenUrl);
    const answer = await send(this.#network, {
      method: 'POST',
      origin: url,
      path: `${url.pathname}${url.search}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: [Buffer.from(new URLSearchParams(this.#form(this.#credentials)).toString())],
      signal,
    });
    const text = await readDocument(answer);
    if (answer.statusCode !== 200) throw ServiceError.of(answer.statusCode, text);
    const { access_token: value, expires_in: seconds } = parse(text);
    if (typeof value !== 'string') throw notAToken();
    return { value, lifetimeMs: Math.min(Math.max(Number(seconds) || 0, 0), lifetimeSecondsMax) * 1000 };
  }

  #form(credentials: Exclude<GcsCredentials, { type: 'access_token' }>): Record<string, string> {
    if (credentials.type === 'authorized_user') {
      const { clientId, clientSecret, refreshToken } = credentials;
      return {
        grant_type: 'refresh_token',
        client_id: clientId,
        client_secret: clientSecret,
        refresh_token: refreshToken,
      };
    }
    const key = { client_email: credentials.clientEmail, private_key: credentials.privateKey };
    try {
      return { grant_type: assertionGrant, assertion: signAssertion(key, { audience: this.#tokenUrl, scope }) };
    } catch (cause) {
      throw new AttemptError('STORAGE_PERMISSION_DENIED', 'The service account key cannot sign.', { cause });
    }
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function notAToken(): AttemptError {
  return new AttemptError('STORAGE_UNAVAILABLE', 'The token endpoint answered with something that is no token.', {
    retry: true,
  });
}
