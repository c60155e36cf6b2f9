import type { Plan } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import { hourMs } from '../../platform/durations.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Module } from '../module.ts';
import { AuditLog } from './audit-log.ts';
import { CheckpointSignatures } from './checkpoint-signature.ts';
import { DenialLog } from './denials.ts';
import { createLocator } from './location.ts';
import { AuditRetention } from './retention.ts';
import { auditHandlers } from './routes.ts';

export { type AuditEntry, AuditLog, type AuditNote, actorOf, systemActor } from './audit-log.ts';
export { chainStart, hashRow } from './chain-hash.ts';
export { createLocator } from './location.ts';
export { keptDaysOf } from './retention.ts';

const retentionEveryMs = hourMs;

export interface AuditDependencies {
  /** The plan decides how long rows are kept; undefined for an organization that is gone. */
  planOf: (transaction: Transaction, organizationId: string) => Promise<Plan | undefined>;
}

export interface AuditModule {
  module: Module;
  log: AuditLog;
  denials: DenialLog;
  retention: AuditRetention;
}

export function createAuditModule(platform: Platform, dependencies: AuditDependencies): AuditModule {
  const { config, clock, ids, database, cursors } = platform;
  const log = new AuditLog(clock, ids, createLocator(config.GEOIP_FILE));
  const signatures = new CheckpointSignatures(platform);
  const daysOverride = config.AUDIT_RETENTION_DAYS;
  const retention = new AuditRetention({
    database,
    clock,
    log,
    signatures,
    daysOverride,
    planOf: dependencies.planOf,
  });
  return {
    log,
    retention,
    denials: new DenialLog({ database, log, clock }),
    module: {
      handlers: auditHandlers({ database, cursors, clock, signatures, daysOverride }),
      tasks: [
        {
          name: 'audit retention',
          everyMs: retentionEveryMs,
          removesByAge: true,
          run: (signal) => retention.run(signal),
        },
      ],
    },
  };
}
