import type { Transaction } from '../../platform/database/database.ts';
import type { BackupsContext, BackupsModule } from '../backups/index.ts';
import type { Troubles } from '../notifications/index.ts';

export interface PitrContext {
  /** Bases are backups: made, read and removed by their own module. */
  backups: BackupsContext;
  chains: Pick<BackupsModule, 'openChainOf'>;
  /** Reports problems to people by mail. */
  troubles: Troubles;
  /** The moments of a project that open restores read. */
  momentsRead(
    transaction: Transaction,
    organizationId: string,
    projectId: string,
  ): Promise<{ id: string; at: string }[]>;
}
