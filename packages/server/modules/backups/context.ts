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
   * Until the transaction ends, its keys do not change and it is not deleted. Must be called before any backup row is
   * locked, in the same order as those who change the keys. False when it is deleted already.
   */
  hold(transaction: Transaction, organizationId: string): Promise<boolean>;
}

export interface BackupKeys {
  /** All keys of the organization that are available; the current one wraps. */
  ring(
    transaction: Transaction,
    organizationId: string,
  ): Promise<{ ring: KeyRing; currentKeyId: string; isCustomers: boolean }>;
  /** Every available key, in the form that is stored beside the backups. */
  kept(transaction: Transaction, organizationId: string): Promise<KeptKey[]>;
  /** Adopts keys that were found beside backups; returns how many were new. */
  adopt(transaction: Transaction, organizationId: string, keys: readonly KeptKey[]): Promise<number>;
  /** Whether an organization lives here, or was purged here. For a transaction of the system. */
  isTaken(transaction: Transaction, organizationId: string): Promise<boolean>;
  /** The id of the key that opens an envelope; undefined when no available key does. */
  keyOf(
    transaction: Transaction,
    organizationId: string,
    ownerId: string,
    envelope: Envelope,
  ): Promise<string | undefined>;
}

/**
 * The newest state of a project that its log reaches: a view, and the backup chain below it. The chain's layers come
 * first in the view.
 */
export interface CapturedState {
  view: View;
  readers: readonly BackupReader[];
  instant: string;
  logId: string;
  documentCount: number;
  close(): Promise<void>;
}

/**
 * An instant at which log and database are exactly equal. Captured changes continue from a backup that is read then.
 */
export interface CapturedMark {
  readonly logId: string | null;
  readonly at: string | undefined;
}

export interface BackupsContext {
  /**
   * The state from captured changes, for a backup that reads nothing from the source; undefined when nothing is
   * captured.
   */
  captured(row: BackupRow, signal: AbortSignal): Promise<CapturedState | undefined>;
  /** The same on top of a chain, if capture had no gap since its end. */
  capturedSince(
    row: BackupRow,
    chain: readonly BackupReader[],
    signal: AbortSignal,
  ): Promise<CapturedState | undefined>;
  /**
   * The database whose changes are captured for the project of a backup; undefined when nothing is captured, or when
   * the backup needs more than captured changes.
   */
  capturedDatabase(row: BackupRow): Promise<string | undefined>;
  /** An instant after the backup was requested at which log and database are equal, if there is one. */
  capturedMark(row: BackupRow, signal: AbortSignal): Promise<CapturedMark>;
  /** Whether it is full only because a schedule of increments takes a full backup now and then. */
  isPeriodicFull(row: BackupRow): Promise<boolean>;
  platform: Platform;
  audit: AuditLog;
  organizations: ActiveOrganizations;
  keys: BackupKeys;
  projects: Pick<ProjectsModule, 'markBroken' | 'markWorking' | 'adopt'>;
  sources: SourceOpener;
  stores: StoreOpener;
  engine: EngineResources;
  /** Called in the transaction that ends a backup, for later modules. */
  onEnded(transaction: Transaction, ended: BackupInEvent): Promise<void>;
  /** Called when something that protected a backup has ended: a hold, a verification. */
  onFreed(transaction: Transaction, row: BackupRow): Promise<void>;
  /** Called when a verification or a drill of a completed backup has failed. */
  onUnproven(
    transaction: Transaction,
    backup: BackupInEvent,
    reason: 'verification_failed' | 'drill_failed',
  ): Promise<void>;
  /**
   * Throws when these backups are the only ones from which captured time can be reached. Asked before people delete
   * backups, not by retention.
   */
  requireNotOnlyBase(
    transaction: Transaction,
    project: { organizationId: string; projectId: string },
    backupIds: readonly string[],
  ): Promise<void>;
  /** Restores and drills that read a backup now. */
  readers(transaction: Transaction, organizationId: string, backupId: string): Promise<{ type: string; id: string }[]>;
}
