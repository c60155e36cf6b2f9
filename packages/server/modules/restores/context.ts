import type { BackupsContext, BackupsModule } from '../backups/index.ts';

export interface RestoresContext extends BackupsContext {
  backups: Pick<BackupsModule, 'openChainOf' | 'startSafetyBackup'>;
  /** Signs a report so that anyone can check it against the published keys. */
  sign(payload: object): Promise<string>;
}
