import type { BackupReader, Envelope, KeptKey, KeyRing, View } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { AuditLog } from '../audit/index.ts';
import type { ProjectsModule, SourceOpener } from '../projects/index.ts';
import type { StoreOpener } from '../storage/index.ts';
import type { BackupRow } from './backup-store.ts';
import type { BackupInEvent } from './events/backup-events.ts';
import type { EngineResources } from './run/engine-resources.ts';

/** What backups need of an organization. */
export interface ActiveOrganizations {
  /** Undefined while it is deleted: nothing runs for it then. */
  active(
    transaction: Transaction,
    organizationId: string,
  ): Promise<{ id: string; name: string; defaultStorageId: string | null } | undefined>;
  /**
   * Until the transaction ends its keys do not change and it is not deleted. Called before any row of a backup is locked, as
   * those do who change it. False when it is deleted already.
   */
  hold(transaction: Transaction, organizationId: string): Promise<boolean>;
}

export interface BackupKeys {
  /** All keys of the organization that are at hand; the current one wraps. */
  ring(
    transaction: Transaction,
    organizationId: string,
  ): Promise<{ ring: KeyRing; currentKeyId: string; isCustomers: boolean }>;
  /** Every key at hand, as it lies beside the backups. */
  kept(transaction: Transaction, organizationId: string): Promise<KeptKey[]>;
  /** Takes in keys that were found beside backups; how many were new. */
  adopt(transaction: Transaction, organizationId: string, keys: readonly KeptKey[]): Promise<number>;
  /** Whether an organization lives here, or was purged here. For a transaction of the system. */
  isTaken(transaction: Transaction, organizationId: string): Promise<boolean>;
  /** Which of them opens an envelope; undefined when none that is at hand does. */
  keyOf(
    transaction: Transaction,
    organizationId: string,
    ownerId: string,
    envelope: Envelope,
  ): Promise<string | undefined>;
}

/** The newest state of a project that its log reaches: a view, and the chain below it, whose layers come first in it. */
export interface CapturedState {
  view: View;
  readers: readonly BackupReader[];
  instant: string;
  logId: string;
  documentCount: number;
  close(): Promise<void>;
}

/** An instant at which a log of changes is exactly the database, and the log that leads on from what is read then. */
export interface CapturedMark {
  readonly logId: string | null;
  readonly at: string | undefined;
}

export interface BackupsContext {
  /** What captured changes come to, for a backup that reads nothing from the source; undefined where none are captured. */
  captured(row: BackupRow, signal: AbortSignal): Promise<CapturedState | undefined>;
  /** The same on top of a chain, while capture is unbroken since its end. */
  capturedSince(
    row: BackupRow,
    chain: readonly BackupReader[],
    signal: AbortSignal,
  ): Promise<CapturedState | undefined>;
  /** The database whose changes are captured for the project of a backup; undefined where none are, or the backup needs more. */
  capturedDatabase(row: BackupRow): Promise<string | undefined>;
  /** An instant behind the asking for a backup at which captured changes are exactly the database, if there is one. */
  capturedMark(row: BackupRow, signal: AbortSignal): Promise<CapturedMark>;
  /** Whether it is full only because a schedule of increments wants one now and then. */
  isOfRhythm(row: BackupRow): Promise<boolean>;
  platform: Platform;
  audit: AuditLog;
  organizations: ActiveOrganizations;
  keys: BackupKeys;
  projects: Pick<ProjectsModule, 'markBroken' | 'markWorking' | 'adopt'>;
  sources: SourceOpener;
  stores: StoreOpener;
  engine: EngineResources;
  /** What later modules do in the transaction in which a backup ends, whichever way. */
  onEnded(transaction: Transaction, ended: BackupInEvent): Promise<void>;
  /** The same when something that kept a backup from going has ended: a hold, a verification. */
  onFreed(transaction: Transaction, row: BackupRow): Promise<void>;
  /** The same when a verification or a drill of a completed backup has failed. */
  onUnproven(
    transaction: Transaction,
    backup: BackupInEvent,
    reason: 'verification_failed' | 'drill_failed',
  ): Promise<void>;
  /** Throws when captured time could be reached from none of the others any more. Asked before people delete, not by retention. */
  requireOtherBases(
    transaction: Transaction,
    project: { organizationId: string; projectId: string },
    backupIds: readonly string[],
  ): Promise<void>;
  /** Restores and drills that read a backup now. */
  readers(transaction: Transaction, organizationId: string, backupId: string): Promise<{ type: string; id: string }[]>;
}
