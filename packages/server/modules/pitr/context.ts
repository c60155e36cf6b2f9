import type { Transaction } from '../../platform/database/database.ts';
import type { BackupsContext, BackupsModule } from '../backups/index.ts';
import type { Troubles } from '../notifications/index.ts';

export interface PitrContext {
  /** Bases are made, read and removed with the means of their own module. */
  backups: BackupsContext;
  chains: Pick<BackupsModule, 'openChainOf'>;
  /** Where people are told by mail. */
  troubles: Troubles;
  /** The moments of a project that restores bring back now, or are about to. */
  momentsRead(
    transaction: Transaction,
    organizationId: string,
    projectId: string,
  ): Promise<{ id: string; at: string }[]>;
}
