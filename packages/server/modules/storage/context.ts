import type { BlobStore } from '@holdfast/engine';
import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Caller } from '../../platform/principal.ts';
import type { AuditLog } from '../audit/index.ts';
import type { StoreOpener } from './access/open-store.ts';
import type { StorageContents, StoragePlace, StorageUsage } from './present-storage.ts';
import type { DestinationRow } from './storage-store.ts';
import type { TaskResult } from './tables.ts';
import type { TaskRow } from './tasks/task-store.ts';

export interface TaskRun {
  task: TaskRow;
  destination: DestinationRow;
  signal: AbortSignal;
  /** A given result is saved, so that another worker can continue counting from it. */
  onProgress(percent: number, phase: string, bytes: number, result?: TaskResult): Promise<void>;
}

export interface OrphanObject {
  key: string;
  bytes: number;
  lastModified: Date;
}

export interface ExpectedBackup {
  id: string;
  /** It is deleted, and its objects may be removed already. */
  isDeleted: boolean;
}

/** A record that needs a resource, or works on it. */
export interface UsedBy {
  type: string;
  id: string;
}

/** What later modules know about a destination; set by the composition. */
export interface StorageDependents {
  usage(
    transaction: Transaction,
    organizationId: string,
    destinationIds: readonly string[],
  ): Promise<Map<string, StorageUsage>>;
  /** What some projects have stored there, those with the most in backups first. */
  contents(
    transaction: Transaction,
    place: StoragePlace,
    page: { start: number; limit: number },
  ): Promise<StorageContents>;
  /** Backups, schedules and the like that need it. */
  users(transaction: Transaction, organizationId: string, destinationId: string): Promise<UsedBy[]>;
  /** A few of the newest backups that should be there; none only when no backup should. */
  expectedBackups(transaction: Transaction, organizationId: string, destinationId: string): Promise<ExpectedBackup[]>;
  /** Backups that are being made in it, or wait for that. */
  madeIn(transaction: Transaction, organizationId: string, destinationId: string): Promise<UsedBy[]>;
  /** What writes to it or reads from it now. */
  workOn(transaction: Transaction, organizationId: string, destinationId: string): Promise<UsedBy[]>;
  /** Objects of ours that no backup owns, ascending by key. */
  orphans(
    organizationId: string,
    destination: DestinationRow,
    store: BlobStore,
    options: { after: string | undefined; signal: AbortSignal },
  ): AsyncIterable<OrphanObject>;
  /** Called when it was deleted. */
  removed(transaction: Transaction, destination: DestinationRow): Promise<void>;
  /**
   * Removes the copies of the organization's keys from it, unless backups that moved to another organization need them.
   */
  takeKeys(destination: DestinationRow, signal: AbortSignal): Promise<'removed' | 'needed'>;
  /** Called when the destination answered: updates what has to be stored in it. */
  connected(transaction: Transaction, destination: DestinationRow): Promise<void>;
  /** Called when it was in error and answers again: reads what could not be read before. */
  recovered(transaction: Transaction, destination: DestinationRow): Promise<void>;
  /** Called when it answers again because of new credentials: writes what could not be written before. */
  credentialsGiven(transaction: Transaction, destination: DestinationRow): Promise<void>;
  rescan(run: TaskRun): Promise<TaskResult>;
  sweep(run: TaskRun): Promise<TaskResult>;
  migrate(run: TaskRun): Promise<TaskResult>;
  /** Removes hidden versions for good. */
  purge(run: TaskRun): Promise<TaskResult>;
}

/** The default destination, which is one of the organization's settings. */
export interface DefaultStorage {
  get(transaction: Transaction, organizationId: string): Promise<string | null>;
  set(transaction: Transaction, caller: Caller, destinationId: string | null): Promise<void>;
}

export interface StorageContext {
  platform: Platform;
  audit: AuditLog;
  stores: StoreOpener;
  defaults: DefaultStorage;
  dependents: StorageDependents;
}
