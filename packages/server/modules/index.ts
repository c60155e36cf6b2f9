import type { Authenticator } from '../http/authentication.ts';
import type { Denial } from '../http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { createAuditModule } from './audit/index.ts';
import { createAuthModule } from './auth/index.ts';
import type { Module } from './module.ts';
import { createOrganizationsModule, membershipsOf, organizationsExist, planOf } from './organizations/index.ts';
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
  const audit = createAuditModule(platform, { planOf });
  const organizations = createOrganizationsModule(platform, audit.log, {
    storageExists: async () => false,
    countProjects: async () => new Map(),
    measureBackups: async () => ({ backupCount: 0, storageUsed: 0 }),
    rewraps: [],
    purgeHooks: [],
  });
  const auth = createAuthModule(platform, {
    audit: audit.log,
    membershipsOf,
    activity: organizations.activity,
    organizationsExist,
    createOrganization: async (founder, name) => {
      await organizations.create(founder, name);
    },
  });
  return {
    modules: [audit.module, auth.module, organizations],
    authenticator: auth.authenticator,
    onDenied: (denial) => audit.denials.record(denial),
    checkStorage: async () => 'ok',
    signInLink: auth.signInLink,
  };
}
