import type { DrillReport } from '@holdfast/contract';
import type { Envelope, Scope, WrittenAhead } from '@holdfast/engine';
import { history, instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import {
  anyText,
  bigint,
  boolean,
  check,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
} from '../../platform/database/orm.ts';
import type { StoredError } from '../job-error.ts';
import { organizations } from '../organizations/tables.ts';

export type JobStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
export type MergeMode = 'overwrite' | 'skip_existing' | 'merge';
export type Phase =
  | 'Initializing'
  | 'Downloading'
  | 'Decrypting'
  | 'Decompressing'
  | 'Validating'
  | 'Restoring'
  | 'Finalizing'
  | 'Completed';

export interface StoredPreview {
  create: number;
  replace: number;
  merge: number;
  skip: number;
  delete: number;
  irreversible?: number;
}

/** What an undo could not take back, and how much of it. */
export interface Irreversible {
  reason: string;
  count: number;
}

export interface DocumentFailure {
  path: string;
  code: string;
  message: string;
}

/** The progress of the writing: first all puts, then deletes of extra documents, then users. */
export interface Checkpoint {
  stage: 'puts' | 'deletes' | 'users' | 'done';
  /** Everything up to this path is done in this stage. */
  after?: string;
  /** For an undo the number of records instead, because it follows the order of the journal. */
  settled?: number;
  /** Set by a resume: failed documents in the journal pages before this one are tried again. */
  retryBefore?: number;
  /**
   * Nobody writes, and the journal tells everything that was written: nothing was under way when the last run ended, nor when those
   * before it did, or what was has been looked for since.
   */
  isHeard?: boolean;
  /**
   * Accounts, in the order of their backup: how many are settled, how many of them were written, and which were refused. What
   * was asked last and not answered yet may be written too.
   */
  users?: {
    settled: number;
    imported: number;
    refused: string[];
    unheard?: { at: number; accounts: number };
  };
  /** Counted writes beyond this place; a run that continues from here counts them again. */
  ahead?: WrittenAhead | undefined;
}

/** The work of one writer of a restore: of its holder, or of the worker on one range. */
export interface Written {
  written: number;
  skipped: number;
  deleted: number;
  failed: number;
  conflicts: number;
  bytes: number;
  errorSample: DocumentFailure[];
  conflictSample: string[];
  /** The number of collections that were written to and are finished. */
  collections: number;
  /** Collections that another writer, or a later run, may write to as well. */
  openCollections: string[];
  /**
   * Writes beyond the saved place, which are in none of the counts above; a run that continues from there counts them
   * again.
   */
  ahead?: WrittenAhead | undefined;
}

/** One picked document and its source. */
export interface StoredItem {
  backupId: string | null;
  pointInTime: string | null;
  path: string;
}

const count = (name: string) => bigint(name, { mode: 'number' });

export const restores = pgTable(
  'restores',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    /** Null for a moment, and for documents picked from several sources. */
    backupId: text('backup_id'),
    /** The moment to restore, as an instant of the engine. */
    pointInTime: text('point_in_time'),
    items: jsonb('items').$type<StoredItem[]>(),
    projectId: text('project_id').notNull(),
    targetProjectId: text('target_project_id').notNull(),
    status: text('status').$type<JobStatus>().notNull(),
    phase: text('phase').$type<Phase>().notNull(),
    mergeMode: text('merge_mode').$type<MergeMode>().notNull(),
    dryRun: boolean('dry_run').notNull(),
    collections: jsonb('collections').$type<string[]>(),
    /** Full paths, also when only ids were given. */
    documentPaths: jsonb('document_paths').$type<string[]>(),
    includeAuthUsers: boolean('include_auth_users').notNull(),
    includeSubcollections: boolean('include_subcollections').notNull(),
    /** Named documents are restored with everything below them. */
    takesBelow: boolean('takes_below').notNull().default(false),
    safetyBackup: boolean('safety_backup').notNull(),
    rewriteReferences: boolean('rewrite_references').notNull(),
    deleteExtra: boolean('delete_extra').notNull(),
    safetyBackupId: text('safety_backup_id'),
    /** The scope of puts, deletes and safety backup; fixed once the backup was opened. */
    scope: jsonb('scope').$type<Scope>(),
    /** When it began, by the target's own clock: nothing changed later is deleted. */
    beganAt: text('began_at'),
    undoOf: text('undo_of'),
    undoneBy: text('undone_by'),
    /** An undo that also takes back what somebody changed since. */
    force: boolean('force').notNull().default(false),
    startedBy: text('started_by'),
    /** Who cancelled it. */
    stoppedBy: text('stopped_by'),
    cancelRequestedAt: instant('cancel_requested_at'),
    /** The journal's data key under the organization's key. */
    journalEnvelope: jsonb('journal_envelope').$type<Envelope>(),
    journalKeyId: text('journal_key_id'),
    journalPages: integer('journal_pages').notNull().default(0),

    /** Increases with every claim; a worker with an older epoch can no longer write. */
    epoch: integer('epoch').notNull().default(0),
    /** The last sign of life of its holder, by the clock of the database, which all processes share. */
    heldAt: instant('held_at'),
    /**
     * The epoch once more, of a restore that has ranges, and null for all others. A version of the service that knows nothing
     * of ranges raises the other alone, and the database refuses: it cannot take such a restore.
     */
    rangesEpoch: integer('ranges_epoch'),
    /**
     * The same for a restore with everything below named documents: an older release would restore only the named ones.
     */
    belowEpoch: integer('below_epoch'),
    /** When the writing of the ranges began, by the database's clock; the ramp-up of writes starts then. */
    rangesBeganAt: instant('ranges_began_at'),
    /** Set when the holder gives up: no further range begins, and the writers stop. */
    rangesStoppedAt: instant('ranges_stopped_at'),
    /** What its holders have written themselves, outside the ranges. */
    ownWritten: jsonb('own_written').$type<Written>(),
    failures: integer('failures').notNull().default(0),
    admittedAt: instant('admitted_at'),
    startedAt: instant('started_at'),
    completedAt: instant('completed_at'),
    checkpoint: jsonb('checkpoint').$type<Checkpoint>().notNull(),
    percent: integer('percent').notNull().default(0),
    percentTold: integer('percent_told').notNull().default(0),
    irreversibleReasons: jsonb('irreversible_reasons').$type<Irreversible[]>().notNull().default([]),
    /** What it is waiting for, in words for a person. */
    waitingFor: text('waiting_for'),
    documentsExpected: count('documents_expected'),
    documentsRestored: count('documents_restored').notNull().default(0),
    documentsSkipped: count('documents_skipped').notNull().default(0),
    documentsDeleted: count('documents_deleted').notNull().default(0),
    conflicts: count('conflicts').notNull().default(0),
    conflictSample: jsonb('conflict_sample').$type<string[]>().notNull().default([]),
    bytesDone: count('bytes_done').notNull().default(0),
    collectionsRestored: integer('collections_restored').notNull().default(0),
    preview: jsonb('preview').$type<StoredPreview>(),
    errorCount: count('error_count').notNull().default(0),
    errorSample: jsonb('error_sample').$type<DocumentFailure[]>().notNull().default([]),
    error: jsonb('error').$type<StoredError>(),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('restores_by_organization').on(table.organizationId, table.id),
    index('restores_by_backup').on(table.organizationId, table.backupId, table.id),
    index('restores_by_time').on(table.organizationId, table.createdAt, table.id),
    index('restores_by_status').on(table.organizationId, table.status, table.id),
    index('restores_by_project').on(table.organizationId, table.projectId, table.id),
    index('restores_by_target').on(table.organizationId, table.targetProjectId, table.id),
    check('restores_ranges_epoch', sql`${table.rangesEpoch} is null or ${table.rangesEpoch} = ${table.epoch}`),
    check('restores_below_epoch', sql`${table.belowEpoch} is null or ${table.belowEpoch} = ${table.epoch}`),
    index('restores_open')
      .on(table.organizationId, table.targetProjectId)
      .where(sql`${table.status} in ('pending', 'running')`),
  ],
).enableRLS();

/** Ranges of a large restore that any worker may write. Deletes follow after all of them, without ranges. */
export const restoreRanges = pgTable(
  'restore_ranges',
  {
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    restoreId: text('restore_id')
      .notNull()
      .references(() => restores.id, { onDelete: 'cascade' }),
    range: integer('range').notNull(),
    /** The first path in it and the first one after it; null when it is open at that end. */
    startPath: anyText('start_path'),
    endPath: anyText('end_path'),
    /** Everything up to this path is done. */
    reached: anyText('reached'),
    isComplete: boolean('is_complete').notNull().default(false),
    /** Increases with every claim; a worker with an older epoch can no longer write. */
    epoch: integer('epoch').notNull().default(0),
    isHeld: boolean('is_held').notNull().default(false),
    /** The holder's last sign of life, by the database's clock. */
    heldAt: instant('held_at'),
    /** The last writer waited for its requests, so the journal holds everything. */
    isHeard: boolean('is_heard').notNull().default(false),
    failures: integer('failures').notNull().default(0),
    waitingFor: text('waiting_for'),
    /** Why it cannot be written; the restore fails with this error. */
    error: jsonb('error').$type<StoredError>(),
    written: jsonb('written').$type<Written>().notNull(),
  },
  (table) => [...tenantPolicies(table.organizationId), primaryKey({ columns: [table.restoreId, table.range] })],
).enableRLS();

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** What restores wrote and deleted, sealed. An undo takes it back, and a resume tries failures again. */
export const restoreJournal = pgTable(
  'restore_journal',
  {
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    restoreId: text('restore_id')
      .notNull()
      .references(() => restores.id, { onDelete: 'cascade' }),
    page: integer('page').notNull(),
    sealed: bytea('sealed').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    primaryKey({ columns: [table.restoreId, table.page] }),
    index('restore_journal_by_age').on(table.createdAt),
  ],
).enableRLS();

export type StoredDrillReport = DrillReport;

/** Trial restores that prove a backup. */
export const drills = pgTable(
  'drills',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    backupId: text('backup_id').notNull(),
    projectId: text('project_id').notNull(),
    targetProjectId: text('target_project_id'),
    /** When the named target was found empty, before the first write; a repeated drill relies on it. */
    targetFoundEmptyAt: instant('target_found_empty_at'),
    status: text('status').$type<JobStatus>().notNull(),
    admittedAt: instant('admitted_at'),
    failures: integer('failures').notNull().default(0),
    percent: integer('percent').notNull().default(0),
    documentsDone: count('documents_done').notNull().default(0),
    bytesDone: count('bytes_done').notNull().default(0),
    report: jsonb('report').$type<StoredDrillReport>(),
    signedReport: text('signed_report'),
    error: jsonb('error').$type<StoredError>(),
    createdAt: instant('created_at').notNull(),
    completedAt: instant('completed_at'),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('drills_by_backup').on(table.organizationId, table.backupId, table.id),
    index('drills_open').on(table.organizationId, table.id).where(sql`${table.status} in ('pending', 'running')`),
  ],
).enableRLS();
