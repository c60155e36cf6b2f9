import type { Authenticator } from '../http/authentication.ts';
import type { Denial } from '../http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { createAuditModule } from './audit/index.ts';
import { AccessTokens } from './auth/access-tokens.ts';
import { DatabaseAuthenticator } from './auth/authenticator.ts';
import { KeptKeyPairs, SharedSecretKeys } from './auth/signing-keys.ts';
import type { Module } from './module.ts';
import { createOrganizationsModule, planOf } from './organizations/index.ts';
import type { CheckResult } from './system/health.ts';

export interface Composition {
  modules: readonly Module[];
  authenticator: Authenticator;
  onDenied: (denial: Denial) => Promise<void>;
  checkStorage: () => Promise<CheckResult>;
  signInLink: () => Promise<string | undefined>;
}

/** Puts the modules together, each handed what it needs of those before it. */
export function composeModules(platform: Platform): Composition {
  const { config, clock, database } = platform;
  const keys =
    config.JWT_ALGORITHM === 'HS256' ? new SharedSecretKeys(config.JWT_SECRET ?? '') : new KeptKeyPairs(platform);
  const tokens = new AccessTokens(keys, clock, config.ACCESS_TOKEN_TTL);
  const audit = createAuditModule(platform, { planOf });
  const organizations = createOrganizationsModule(platform, audit.log, {
    storageExists: async () => false,
    countProjects: async () => new Map(),
    measureBackups: async () => ({ backupCount: 0, storageUsed: 0 }),
    rewraps: [],
    purgeHooks: [],
  });
  const { activity } = organizations;
  return {
    modules: [audit.module, organizations],
    authenticator: new DatabaseAuthenticator({ database, clock, tokens, activity }),
    onDenied: (denial) => audit.denials.record(denial),
    checkStorage: async () => 'ok',
    signInLink: async () => undefined,
  };
}
