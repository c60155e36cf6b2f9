import type { DataOf, Operations } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';

type PitrSummary = DataOf<Operations['getOverview']>['projects'][number]['pitr'];

export interface OverviewContext {
  platform: Platform;
  /** What can be restored between backups, for the projects that have point-in-time recovery on. */
  pitrOf(
    transaction: Transaction,
    organizationId: string,
    projectIds: readonly string[],
  ): Promise<ReadonlyMap<string, PitrSummary>>;
  isSessionOpen(sessionId: string): Promise<boolean>;
  withdrawnKeysOf(transaction: Transaction, organizationId: string): Promise<string[]>;
  defaultStorageOf(transaction: Transaction, organizationId: string): Promise<string | null>;
}
