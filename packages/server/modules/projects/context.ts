import type { Role } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Caller } from '../../platform/principal.ts';
import type { AuditLog } from '../audit/index.ts';
import type { SourceOpener } from './connection/open-source.ts';
import type { ProjectStatistics, ProjectView } from './present-project.ts';
import type { ProjectRow } from './project-store.ts';

/** What later modules tell this one about a project, put in by the composition. */
export interface ProjectDependents {
  statistics(
    transaction: Transaction,
    organizationId: string,
    projectIds: readonly string[],
  ): Promise<Map<string, ProjectStatistics>>;
  /** Point-in-time recovery of those that have it. */
  pitr(
    transaction: Transaction,
    organizationId: string,
    projectIds: readonly string[],
  ): Promise<ReadonlyMap<string, ProjectView['pitr']>>;
  /** Whether there is a log of captured changes, which ends with the project. */
  isCaptured(transaction: Transaction, project: ProjectRow): Promise<boolean>;
  /** Jobs that work on the project now. */
  runningJobs(
    transaction: Transaction,
    organizationId: string,
    projectId: string,
  ): Promise<{ type: string; id: string }[]>;
  /** Average size of a document in the newest backup. */
  bytesPerDocument(transaction: Transaction, organizationId: string, projectId: string): Promise<number | undefined>;
  /** Deletes the project's backups as jobs, when its owner wants that. Throws when one may not go. */
  deleteBackups(transaction: Transaction, caller: Caller, project: ProjectRow): Promise<number>;
  /** Its connection works again: what stood still because of it may go on. */
  reconnected(transaction: Transaction, project: ProjectRow): Promise<void>;
  /** What acts for the project by itself ends with it. */
  removed(transaction: Transaction, project: ProjectRow): Promise<void>;
  /** Whether a time of one of its schedules has come that nobody has taken yet. */
  isDue(transaction: Transaction, project: ProjectRow): Promise<boolean>;
  /** Takes such times, as a scheduler would: each is a run, or told as missed. */
  takeDue(organizationId: string, projectId: string): Promise<void>;
  /** Takes everything that belongs to the project into another organization; the transaction spans both. */
  move(transaction: Transaction, project: ProjectRow, toOrganizationId: string): Promise<void>;
}

export interface ProjectsContext {
  platform: Platform;
  audit: AuditLog;
  sources: SourceOpener;
  dependents: ProjectDependents;
  /** The person's role there, read now. */
  roleUnderLock(transaction: Transaction, organizationId: string, userId: string): Promise<Role | undefined>;
}
