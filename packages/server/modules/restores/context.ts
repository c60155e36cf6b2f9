import type { BackupsContext, BackupsModule } from '../backups/index.ts';
import type { RestoreSource } from './restore-source.ts';

/** A project's past between its backups, where point-in-time recovery keeps it. */
export interface Moments {
  /** Throws POINT_IN_TIME_UNAVAILABLE, with the nearest reachable instants, where nothing reaches this one. */
  require(organizationId: string, projectId: string, instant: string): Promise<void>;
  open(organizationId: string, projectId: string, instant: string, signal: AbortSignal): Promise<RestoreSource>;
  /** Where what a restore overwrites is saved. */
  destinationOf(organizationId: string, projectId: string): Promise<string>;
}

export interface RestoresContext extends BackupsContext {
  backups: Pick<BackupsModule, 'openChainOf' | 'startSafetyBackup' | 'stopSafetyBackup'>;
  moments: Moments;
  /** Signs a report so that anyone can check it against the published keys. */
  sign(payload: object): Promise<string>;
}
