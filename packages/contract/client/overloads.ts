import type { z } from 'zod';
import type { Operations } from '../operations/index.ts';
import type { refreshedTokens, renewedCookies } from '../schemas/auth.ts';
import type { Backup, backupDryRun } from '../schemas/backups.ts';
import type { CallInput, CallOptions } from './input.ts';

/** Calls whose result type depends on their input: the types show it, so that callers need not check the answer. */
export interface Overloads {
  readonly createBackup: CreateBackup;
  readonly refreshTokens: RefreshTokens;
}

type BackupInput = CallInput<Operations['createBackup']>;
type WithDryRun<D> = BackupInput & { body: D };

interface CreateBackup {
  (input: WithDryRun<{ dryRun?: false }>): Promise<Backup>;
  (input: WithDryRun<{ dryRun: true }>): Promise<z.output<typeof backupDryRun>>;
  (input: BackupInput): Promise<Backup | z.output<typeof backupDryRun>>;
}

interface RefreshTokens {
  /** With a refresh token: the next pair. */
  (input: CallOptions & { body: { refreshToken: string } }): Promise<z.output<typeof refreshedTokens>>;
  /** Without one: the browser's cookies are renewed. */
  (input?: CallOptions): Promise<z.output<typeof renewedCookies>>;
}
