import * as oidc from 'openid-client';
import type { Clock } from '../../../platform/clock.ts';
import { hourMs } from '../../../platform/durations.ts';
import type { Logger } from '../../../platform/log.ts';
import { Problem } from '../../../platform/problem.ts';
import { type ProviderIdentity, readIdentity } from './provider-identity.ts';

export interface ProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Google is asked for consent to back up the person's projects; other providers cannot give it. */
  isGoogle: boolean;
  /** Whether its refresh tokens are consents to read projects. Others are not stored. */
  keepsConsent: boolean;
}

export interface FlowSecrets {
  state: string;
  nonce: string;
  codeVerifier: string;
}

const identityScopes = ['openid', 'email', 'profile'];
/** The three Google scopes that let a person's projects be backed up. */
const projectScopes = [
  'https://www.googleapis.com/auth/firebase',
  'https://www.googleapis.com/auth/cloud-platform',
  'https://www.googleapis.com/auth/datastore',
];
const timeoutSeconds = 10;
const discoveryKeptMs = hourMs;
const discoveryAttempts = 3;
const refused = 'The identity provider did not accept the sign-in. Start again.';

type Grant = (
  configuration: oidc.Configuration,
) => Promise<oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers>;

/**
 * The OpenID Connect provider of the sign-in. Id tokens are checked against the provider's keys, issuer, audience and
 * time, and in our own flows the nonce. A provider takes the client's secret in one of two ways; the first use finds
 * out which one.
 */
export class IdentityProvider {
  readonly #settings: ProviderSettings;
  readonly #clock: Clock;
  readonly #log: Logger;
  #discovered: Promise<oidc.Configuration[]> | undefined;
  #discoveredAtMs = 0;

  constructor(settings: ProviderSettings, clock: Clock, log: Logger) {
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * With `identityOnly` only the identity is requested, and no consent is stored. With `inPerson` an earlier sign-in at
   * the provider is not enough: the person has to act on a page of the provider.
   */
  async authorizationUrl(
    secrets: FlowSecrets,
    redirectUri: string,
    { identityOnly, inPerson }: { identityOnly: boolean; inPerson: boolean },
  ): Promise<string> {
    const [configuration] = await this.#configurations();
    const { isGoogle } = this.#settings;
    const asksConsent = isGoogle && !identityOnly;
    const url = oidc.buildAuthorizationUrl(configuration as oidc.Configuration, {
      redirect_uri: redirectUri,
      scope: [...identityScopes, ...(asksConsent ? projectScopes : [])].join(' '),
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(secrets.codeVerifier),
      code_challenge_method: 'S256',
      ...(asksConsent ? { access_type: 'offline', prompt: 'consent' } : {}),
      ...(isGoogle && identityOnly ? { prompt: 'select_account' } : {}),
      ...(!isGoogle && inPerson ? { prompt: 'login' } : {}),
    });
    return url.href;
  }

  /** Checks the answer to one of our flows against everything it was started with. */
  finish(callback: URL, secrets: FlowSecrets): Promise<ProviderIdentity> {
    return this.#exchange((configuration) =>
      oidc.authorizationCodeGrant(configuration, callback, {
        expectedState: secrets.state,
        expectedNonce: secrets.nonce,
        pkceCodeVerifier: secrets.codeVerifier,
        idTokenExpected: true,
      }),
    );
  }

  /** A code that the caller obtained for our client: the provider checks its redirect URI and its verifier. */
  exchangeForeignCode(code: string, redirectUri: string, codeVerifier: string | undefined): Promise<ProviderIdentity> {
    return this.#exchange((configuration) =>
      oidc.genericGrantRequest(configuration, 'authorization_code', {
        code,
        redirect_uri: redirectUri,
        ...(codeVerifier === undefined ? {} : { code_verifier: codeVerifier }),
      }),
    );
  }

  /** Why the provider cannot be used, if so: its address is wrong, or it is unreachable. */
  async trouble(): Promise<string | undefined> {
    this.#discovered ??= this.#discover();
    this.#discoveredAtMs = this.#clock.now().getTime();
    try {
      await this.#discovered;
      return undefined;
    } catch (error) {
      this.#discovered = undefined;
      return describe(error);
    }
  }

  async #exchange(grant: Grant): Promise<ProviderIdentity> {
    const configurations = await this.#configurations();
    for (const [index, configuration] of configurations.entries()) {
      try {
        const tokens = await grant(configuration);
        if (index > 0) configurations.unshift(...configurations.splice(index, 1));
        const identity = await readIdentity(configuration, tokens);
        return this.#settings.keepsConsent ? identity : { ...identity, refreshToken: null };
      } catch (error) {
        const isLast = index === configurations.length - 1;
        if (!isLast && error instanceof oidc.ResponseBodyError && error.error === 'invalid_client') continue;
        throw this.#problemOf(error);
      }
    }
    throw new Error('an identity provider has at least one configuration');
  }

  async #configurations(): Promise<oidc.Configuration[]> {
    const nowMs = this.#clock.now().getTime();
    if (!this.#discovered || nowMs - this.#discoveredAtMs > discoveryKeptMs) {
      this.#discoveredAtMs = nowMs;
      this.#discovered = this.#discover();
    }
    try {
      return await this.#discovered;
    } catch (error) {
      this.#discovered = undefined;
      this.#log.warn({ reason: describe(error) }, 'the identity provider could not be discovered');
      throw unreachable();
    }
  }

  async #discover(): Promise<oidc.Configuration[]> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const isPlain = issuer.startsWith('http:');
    const prepare = [oidc.enableNonRepudiationChecks, ...(isPlain ? [oidc.allowInsecureRequests] : [])];
    for (let attempt = 1; ; attempt++) {
      try {
        const found = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.ClientSecretBasic(clientSecret), {
          execute: prepare,
          timeout: timeoutSeconds,
        });
        const other = new oidc.Configuration(
          found.serverMetadata(),
          clientId,
          undefined,
          oidc.ClientSecretPost(clientSecret),
        );
        other.timeout = timeoutSeconds;
        for (const step of prepare) step(other);
        const methods = found.serverMetadata().token_endpoint_auth_methods_supported;
        return methods && !methods.includes('client_secret_basic') ? [other, found] : [found, other];
      } catch (error) {
        if (attempt === discoveryAttempts) throw error;
      }
    }
  }

  /** Errors of the library may contain tokens and claims, so only their names are logged and none is passed on. */
  #problemOf(error: unknown): Problem {
    if (error instanceof Problem) return error;
    this.#log.warn({ reason: describe(error) }, 'a sign-in failed at the identity provider');
    if (error instanceof oidc.ResponseBodyError) {
      const isOurs = error.error === 'invalid_client' || error.status >= 500;
      return isOurs ? unreachable() : new Problem('UNAUTHORIZED', refused);
    }
    if (error instanceof oidc.AuthorizationResponseError) return new Problem('UNAUTHORIZED', refused);
    if (error instanceof oidc.ClientError) {
      const response = error.cause instanceof Response ? error.cause : undefined;
      const isAway = error.code === 'OAUTH_TIMEOUT' || (response !== undefined && response.status >= 500);
      return isAway ? unreachable() : new Problem('UNAUTHORIZED', refused);
    }
    return unreachable();
  }
}

function unreachable(): Problem {
  return new Problem('SERVICE_UNAVAILABLE', 'The identity provider cannot be reached right now. Try again shortly.');
}

function describe(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError) return `${error.status} ${error.error}`;
  if (error instanceof oidc.ClientError) return error.code ?? error.name;
  const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  return cause?.code ?? cause?.message ?? (error instanceof Error ? error.name : 'unknown');
}
