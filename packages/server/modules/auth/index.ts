import { asksGoogle, keepsConsent } from '../../config.ts';
import type { Authenticator } from '../../http/authentication.ts';
import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { AuditLog } from '../audit/index.ts';
import type { Module } from '../module.ts';
import { type ActivityNotes, DatabaseAuthenticator } from './authenticator.ts';
import { cleanupTasks } from './cleanup.ts';
import type { MembershipsOf } from './memberships.ts';
import { authHandlers } from './routes.ts';
import { SessionActivity } from './sessions/session-activity.ts';
import { isSessionOpen } from './sessions/session-store.ts';
import { Sessions } from './sessions/sessions.ts';
import { IdentityProvider } from './sign-in/identity-provider.ts';
import { type CreateOrganization, LocalSignIn } from './sign-in/local-sign-in.ts';
import { requireProvider } from './sign-in/require-provider.ts';
import { SignIn } from './sign-in/sign-in.ts';
import { SignInFlows } from './sign-in/sign-in-flows.ts';
import { AccessTokens } from './tokens/access-tokens.ts';
import { SharedSecretKeys, StoredKeyPairs, signReport } from './tokens/signing-keys.ts';
import { readProviderRefreshToken } from './user-store.ts';

export { type ActivityNotes, activityMs } from './authenticator.ts';
export { users } from './tables.ts';
export { createApiKey, hashApiKey } from './tokens/api-key.ts';

export interface AuthDependencies {
  audit: AuditLog;
  /** From the organizations module, which comes later. */
  membershipsOf: MembershipsOf;
  activity: ActivityNotes;
  organizationsExist: (transaction: Transaction) => Promise<boolean>;
  createOrganization: CreateOrganization;
  isInvited: (transaction: Transaction, email: string, now: Date) => Promise<boolean>;
  /** Checks the projects again that use this person's consent or wait for it. */
  consentGiven: (userId: string, email: string) => Promise<void>;
}

export interface AuthModule {
  module: Module;
  authenticator: Authenticator;
  /** Throws if the provider cannot be used and nobody has signed in yet: then the service should not start. */
  requireProvider: () => Promise<void>;
  /** The one-time link of a fresh installation, new at each start. */
  signInLink: () => Promise<string | undefined>;
  /**
   * The consent that a person gave at sign-in, used for the projects they connected with it. Null when there is none.
   */
  providerRefreshToken: (userId: string) => Promise<string | null>;
  /** For streams and other work that outlasts a call. */
  isSessionOpen: (sessionId: string) => Promise<boolean>;
  /** A compact JWS that anyone can check against the published keys. */
  sign: (payload: object) => Promise<string>;
}

export function createAuthModule(platform: Platform, dependencies: AuthDependencies): AuthModule {
  const { config, clock, ids, log, database, keyring, cursors, baseUrl } = platform;
  const { audit, membershipsOf, activity } = dependencies;
  const keyPairs = config.JWT_ALGORITHM === 'HS256' ? undefined : new StoredKeyPairs(platform);
  const keys = keyPairs ?? new SharedSecretKeys(config.JWT_SECRET ?? '');
  const tokens = new AccessTokens(keys, clock, config.ACCESS_TOKEN_TTL);
  const refreshLifetimeSeconds = config.REFRESH_TOKEN_TTL;
  const sessions = new Sessions({
    database,
    clock,
    ids,
    audit,
    tokens,
    membershipsOf,
    refreshLifetimeMs: refreshLifetimeSeconds * 1000,
  });
  const provider = createProvider(platform);
  const signIn = new SignIn({
    database,
    clock,
    ids,
    keyring,
    sessions,
    provider,
    baseUrl,
    flows: new SignInFlows({ database, keyring, clock }),
    allowedRedirectUris: config.ALLOWED_REDIRECT_URIS,
    signUp: {
      policy: config.SIGN_UP_POLICY,
      domains: config.SIGN_UP_DOMAINS,
      isInvited: (transaction, email) => dependencies.isInvited(transaction, email, clock.now()),
    },
    onConsent: ({ id, email }) =>
      void dependencies
        .consentGiven(id, email)
        .catch((error: unknown) => log.warn({ err: error, userId: id }, 'projects were not checked after a consent')),
  });
  const local = new LocalSignIn({
    database,
    clock,
    ids,
    sessions,
    baseUrl,
    isAllowed: provider === undefined || config.LOCAL_SIGN_IN,
    organizationsExist: dependencies.organizationsExist,
    createOrganization: dependencies.createOrganization,
  });
  const refresh = { database, clock, keyring, sessions, membershipsOf };
  return {
    module: {
      handlers: authHandlers({
        database,
        cursors,
        keys,
        sessions,
        signIn,
        local,
        refresh,
        membershipsOf,
        refreshLifetimeSeconds,
        issuer: provider ? config.OIDC_ISSUER : undefined,
      }),
      tasks: cleanupTasks({ database, clock, keyPairs }),
    },
    authenticator: new DatabaseAuthenticator({
      database,
      clock,
      tokens,
      activity,
      sessions: new SessionActivity({ database, clock, log }),
    }),
    requireProvider: () => requireProvider(platform, provider, dependencies.organizationsExist),
    signInLink: () => local.link(),
    providerRefreshToken: (userId) =>
      database.system((transaction) => readProviderRefreshToken(transaction, userId, keyring)),
    isSessionOpen: (sessionId) => database.system((transaction) => isSessionOpen(transaction, sessionId, clock.now())),
    sign: (payload) => signReport(keys, payload),
  };
}

/** Makes a new key that signs access tokens; the old one verifies until its last token has expired. */
export async function rotateSigningKey(platform: Platform): Promise<void> {
  if (platform.config.JWT_ALGORITHM === 'HS256')
    throw new Error('With JWT_ALGORITHM=HS256 there is no key pair to rotate; change JWT_SECRET instead.');
  await new StoredKeyPairs(platform).rotate();
}

function createProvider({ config, clock, log }: Platform): IdentityProvider | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = config;
  if (!issuer || !clientId || !clientSecret) return undefined;
  const kind = { isGoogle: asksGoogle(config), keepsConsent: keepsConsent(config) };
  return new IdentityProvider({ issuer, clientId, clientSecret, ...kind }, clock, log);
}
