import type { Role } from '@holdfast/contract';
import type { Transaction } from '../../platform/database/database.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Caller } from '../../platform/principal.ts';
import type { AuditLog } from '../audit/index.ts';
import type { SourceOpener } from './connection/open-source.ts';
import type { ProjectStatistics, ProjectView } from './present-project.ts';
import type { ProjectRow } from './project-store.ts';

/** What later modules know about a project; set by the composition. */
export interface ProjectDependents {
  statistics(
    transaction: Transaction,
    organizationId: string,
    projectIds: readonly string[],
  ): Promise<Map<string, ProjectStatistics>>;
  /** The state of point-in-time recovery, for the projects that have it. */
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
  /** Enqueues the deletion of the project's backups, if wanted. Throws when one may not be deleted. */
  deleteBackups(transaction: Transaction, caller: Caller, project: ProjectRow): Promise<number>;
  /** The connection works again: continues what was paused because of it. */
  reconnected(transaction: Transaction, project: ProjectRow): Promise<void>;
  /** Ends everything automatic of the project. */
  removed(transaction: Transaction, project: ProjectRow): Promise<void>;
  /** Whether one of its schedules is due and not taken yet. */
  isDue(transaction: Transaction, project: ProjectRow): Promise<boolean>;
  /** Takes due times as a scheduler would: each one runs, or is reported as missed. */
  takeDue(organizationId: string, projectId: string): Promise<void>;
  /** Moves everything of the project to another organization; the transaction spans both. */
  move(transaction: Transaction, project: ProjectRow, toOrganizationId: string): Promise<void>;
}

export interface ProjectsContext {
  platform: Platform;
  audit: AuditLog;
  sources: SourceOpener;
  dependents: ProjectDependents;
  /** The person's present role there. */
  roleUnderLock(transaction: Transaction, organizationId: string, userId: string): Promise<Role | undefined>;
}
