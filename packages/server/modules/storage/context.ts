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
  /** A result that is given is kept: whoever takes the task up goes on counting from it. */
  onProgress(percent: number, phase: string, bytes: number, result?: TaskResult): Promise<void>;
}

export interface OrphanObject {
  key: string;
  bytes: number;
  lastModified: Date;
}

export interface HeldBackup {
  id: string;
  /** Deleted, and its objects may be gone already. */
  isDeleted: boolean;
}

/** Something that needs a thing, or works on it. */
export interface UsedBy {
  type: string;
  id: string;
}

/** What the backups module knows about a destination, put in by the composition. */
export interface StorageDependents {
  usage(
    transaction: Transaction,
    organizationId: string,
    destinationIds: readonly string[],
  ): Promise<Map<string, StorageUsage>>;
  /** What it holds of some of the projects; those with the most in backups come first. */
  contents(
    transaction: Transaction,
    place: StoragePlace,
    page: { start: number; limit: number },
  ): Promise<StorageContents>;
  /** Backups, schedules and the like that need it. */
  users(transaction: Transaction, organizationId: string, destinationId: string): Promise<UsedBy[]>;
  /** A few of the newest backups that are said to lie in it; none only when nothing does. */
  held(transaction: Transaction, organizationId: string, destinationId: string): Promise<HeldBackup[]>;
  /** What writes to it or reads from it now. */
  workOn(transaction: Transaction, organizationId: string, destinationId: string): Promise<UsedBy[]>;
  /** Objects of ours that no backup owns, ascending by key. */
  orphans(
    organizationId: string,
    destination: DestinationRow,
    store: BlobStore,
    options: { after: string | undefined; signal: AbortSignal },
  ): AsyncIterable<OrphanObject>;
  /** It was deleted. */
  removed(transaction: Transaction, destination: DestinationRow): Promise<void>;
  /** Takes the copies of the organization's keys out of it, unless backups that moved to another one need them. */
  takeKeys(destination: DestinationRow, signal: AbortSignal): Promise<'removed' | 'needed'>;
  /** The destination answered: what has to lie in it is brought up to date. */
  connected(transaction: Transaction, destination: DestinationRow): Promise<void>;
  /** It was in error and answers again: what could not be read meanwhile is read. */
  recovered(transaction: Transaction, destination: DestinationRow): Promise<void>;
  /** It answers again because of new credentials: what could not be written without them is written. */
  credentialsGiven(transaction: Transaction, destination: DestinationRow): Promise<void>;
  rescan(run: TaskRun): Promise<TaskResult>;
  sweep(run: TaskRun): Promise<TaskResult>;
  migrate(run: TaskRun): Promise<TaskResult>;
  /** Removes for good what a bucket that keeps versions only hides. */
  purge(run: TaskRun): Promise<TaskResult>;
}

/** The default destination stands in the organization's settings. */
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
