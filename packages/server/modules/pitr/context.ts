import type { BackupsContext, BackupsModule } from '../backups/index.ts';
import type { Troubles } from '../notifications/index.ts';

export interface PitrContext {
  /** Bases are made, read and removed with the means of their own module. */
  backups: BackupsContext;
  chains: Pick<BackupsModule, 'openChainOf'>;
  /** Where people are told by mail. */
  troubles: Troubles;
}
