import type { BackupsContext, BackupsModule } from '../backups/index.ts';
import type { RestoreSource } from './restore-source.ts';

/** The states of a project between its backups, where point-in-time recovery keeps them. */
export interface Moments {
  /** Throws POINT_IN_TIME_UNAVAILABLE, with the nearest reachable instants, where nothing reaches this one. */
  require(organizationId: string, projectId: string, instant: string): Promise<void>;
  open(organizationId: string, projectId: string, instant: string, signal: AbortSignal): Promise<RestoreSource>;
  /** The destination for the safety backup of a restore. */
  destinationOf(organizationId: string, projectId: string): Promise<string>;
}

export interface RestoresContext extends BackupsContext {
  backups: Pick<BackupsModule, 'openChainOf' | 'startSafetyBackup' | 'stopSafetyBackup'>;
  moments: Moments;
  /** Signs a report; anyone can check it with the published keys. */
  sign(payload: object): Promise<string>;
}
