import { createHash } from 'node:crypto';
import { pathOf } from '@holdfast/contract';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { RequestOrigin } from '../../../platform/principal.ts';
import { Problem } from '../../../platform/problem.ts';
import type { MasterKeyring } from '../../../platform/secrets/master-keyring.ts';
import type { Sessions, TokenPair } from '../sessions/sessions.ts';
import { tokenPrefixes } from '../tokens/secret-tokens.ts';
import { findOrCreateUser, findUser, isKnown, type UserRow } from '../user-store.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { boundCode, issueExchangeCode, redeemCode } from './one-time-code-store.ts';
import type { ProviderIdentity } from './provider-identity.ts';
import { isLoopback, requireRedirectUri } from './redirect-uri.ts';
import { type ReturnTarget, random, type SignInFlow, type SignInFlows } from './sign-in-flows.ts';
import { requireSignUp, type SignUpPolicy } from './sign-up-policy.ts';

export interface SignInOptions {
  database: Database;
  clock: Clock;
  ids: Ids;
  keyring: MasterKeyring;
  flows: SignInFlows;
  sessions: Sessions;
  /** Undefined when none is configured. */
  provider: IdentityProvider | undefined;
  allowedRedirectUris: readonly string[];
  baseUrl: () => string;
  /** Called when a person has given the provider's consent again. Nobody waits for it. */
  onConsent: (user: UserRow) => void;
  signUp: SignUpPolicy;
}

export interface SignInRequest {
  redirectUri: string | undefined;
  state: string | undefined;
  codeChallenge: string | undefined;
  identityOnly: boolean;
}

export interface CallbackQuery {
  code?: string | undefined;
  state?: string | undefined;
  iss?: string | undefined;
  error?: string | undefined;
}

export type SignInEnd = { kind: 'return'; location: string } | { kind: 'session'; tokens: TokenPair };

const browserPattern = /^[A-Za-z0-9_-]{43}$/;
const wrongCode = 'The code is not valid, has expired or was used before.';

/** Sign-in with the identity provider, from the first redirect to tokens. */
export class SignIn {
  readonly #options: SignInOptions;

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** Where to send the browser, and the value of the cookie that will recognise it. Several tabs share one. */
  async start({ redirectUri, state, codeChallenge, identityOnly }: SignInRequest, browserCookie: string | undefined) {
    const provider = this.#provider();
    if (redirectUri !== undefined) requireRedirectUri(redirectUri, codeChallenge, this.#options.allowedRedirectUris);
    const browser = browserCookie && browserPattern.test(browserCookie) ? browserCookie : random();
    const secrets = await this.#options.flows.begin(browser, {
      redirectUri: redirectUri ?? null,
      returnState: state ?? null,
      codeChallenge: codeChallenge ?? null,
    });
    // Any program on the person's machine can listen there, so it gets a code only after the person has acted, not by a
    // link alone.
    const inPerson = redirectUri !== undefined && isLoopback(redirectUri);
    const asked = { identityOnly, inPerson };
    return { location: await provider.authorizationUrl(secrets, this.#callbackUri(), asked), browser };
  }

  async finish(query: CallbackQuery, browserCookie: string | undefined, origin: RequestOrigin): Promise<SignInEnd> {
    const provider = this.#provider();
    const flow = query.state === undefined ? undefined : await this.#options.flows.take(query.state, browserCookie);
    if (!flow)
      throw new Problem('UNAUTHORIZED', 'This sign-in was not begun in this browser, or is over. Start again.');
    if (query.error !== undefined || query.code === undefined) {
      if (flow.redirectUri === null)
        throw new Problem('UNAUTHORIZED', 'The identity provider ended the sign-in.', {
          details: { reason: query.error === 'access_denied' ? 'consent_refused' : 'provider_error' },
        });
      return {
        kind: 'return',
        location: returning(flow, flow.redirectUri, { error: query.error ?? 'invalid_request' }),
      };
    }
    const user = await provider
      .finish(this.#answered(query), flow)
      .then((identity) => this.#keep(identity))
      .catch((error: unknown) => ({ location: refusalOf(error, flow) }));
    if ('location' in user) return { kind: 'return', location: user.location };
    if (flow.redirectUri === null) {
      return { kind: 'session', tokens: await this.#options.sessions.start(user, origin, 'provider') };
    }
    const now = this.#options.clock.now();
    const code = await this.#options.database.system((transaction) =>
      issueExchangeCode(transaction, user.id, now, flow.codeChallenge),
    );
    return { kind: 'return', location: returning(flow, flow.redirectUri, { code }) };
  }

  /** Takes a one-time code of ours, or a code of the provider that the caller obtained by itself. */
  async exchange(
    request: { code: string; redirectUri?: string | undefined; codeVerifier?: string | undefined },
    origin: RequestOrigin,
  ): Promise<TokenPair> {
    const { sessions, provider } = this.#options;
    if (request.code.startsWith(tokenPrefixes.code))
      return sessions.start(await this.#redeem(request.code, request.codeVerifier), origin, 'code');
    if (!provider) throw new Problem('UNAUTHORIZED', wrongCode);
    const redirectUri = request.redirectUri ?? this.#callbackUri();
    const identity = await provider.exchangeForeignCode(request.code, redirectUri, request.codeVerifier);
    return sessions.start(await this.#keep(identity), origin, 'provider');
  }

  #provider(): IdentityProvider {
    if (this.#options.provider) return this.#options.provider;
    throw new Problem('INVALID_STATE', 'No identity provider is configured. Use the link the server printed at start.');
  }

  async #keep(identity: ProviderIdentity): Promise<UserRow> {
    const { database, clock, ids, keyring, onConsent, signUp } = this.#options;
    const user = await database.system(async (transaction) => {
      if (!(await isKnown(transaction, identity.subject))) await requireSignUp(transaction, signUp, identity);
      return findOrCreateUser(transaction, identity, clock.now(), ids, keyring);
    });
    if (identity.refreshToken !== null) onConsent(user);
    return user;
  }

  #redeem(code: string, codeVerifier: string | undefined): Promise<UserRow> {
    const { database, clock } = this.#options;
    const wanted = boundCode(code, codeVerifier === undefined ? null : challengeOf(codeVerifier));
    return database.system(async (transaction) => {
      const redeemed = await redeemCode(transaction, 'exchange', wanted, clock.now());
      const user = redeemed?.userId ? await findUser(transaction, redeemed.userId) : undefined;
      if (!user) throw new Problem('UNAUTHORIZED', wrongCode);
      return user;
    });
  }

  #callbackUri(): string {
    return `${this.#options.baseUrl()}${pathOf('finishSignIn')}`;
  }

  #answered(query: CallbackQuery): URL {
    const url = new URL(this.#callbackUri());
    for (const name of ['code', 'state', 'iss'] as const) {
      const value = query[name];
      if (value !== undefined) url.searchParams.set(name, value);
    }
    return url;
  }
}

/**
 * A program that waits on the person's machine gets the error in the redirect; everybody else sees it in the browser.
 */
function refusalOf(error: unknown, flow: SignInFlow): string {
  if (!(error instanceof Problem) || flow.redirectUri === null || !isLoopback(flow.redirectUri)) throw error;
  const { reason } = error.details ?? {};
  return returning(flow, flow.redirectUri, { error: typeof reason === 'string' ? reason : error.code });
}

function returning({ returnState }: ReturnTarget, address: string, answer: Record<string, string>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value);
  if (returnState !== null) url.searchParams.set('state', returnState);
  return url.href;
}

function challengeOf(codeVerifier: string): string {
  return createHash('sha256').update(codeVerifier).digest('base64url');
}
