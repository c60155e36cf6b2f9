import type { JobErrorCode } from '@holdfast/contract';
import type { BackupPlan, Envelope, ForeignFormat, RangeState } from '@holdfast/engine';
import { history, instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { bigint, boolean, index, integer, jsonb, pgTable, primaryKey, sql, text } from '../../platform/database/orm.ts';
import type { StoredError } from '../job-error.ts';
import { organizations } from '../organizations/tables.ts';

export type JobStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
export type BackupType = 'full' | 'incremental' | 'synthetic';
export type BackupTrigger = 'manual' | 'scheduled' | 'api' | 'pre_restore' | 'pitr';

export interface StoredFault {
  code: JobErrorCode;
  message: string;
  object: string | null;
}

export interface StoredVerification {
  status: 'running' | 'passed' | 'failed';
  segments: number;
  documents: number;
  errors: (StoredFault | string)[];
}

export interface AnomalyMeasure {
  backupId: string;
  documentCount: number;
  collection: string | null;
}

/** Why a backup is suspicious. */
export interface StoredAnomaly {
  reason: 'documents_shrank' | 'collection_shrank' | 'verification_failed' | 'drill_failed';
  before: AnomalyMeasure | null;
  after: AnomalyMeasure | null;
}

export interface SnapshotShare {
  time: string;
  percent: number;
  documents: number;
}

/** How a foreign file becomes a backup. */
export interface ImportRequest {
  path: string;
  source: 'holdfast' | ForeignFormat;
  createdAt?: string;
  /** The file is the backup itself, at its own place: it is never removed unless the registered backup is deleted. */
  inPlace?: boolean;
  /** The database it is of, where that is another than the project's. */
  ofDatabase?: string;
}

const count = (name: string) => bigint(name, { mode: 'number' });

export const backups = pgTable(
  'backups',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    projectId: text('project_id').notNull(),
    type: text('type').$type<BackupType>().notNull(),
    status: text('status').$type<JobStatus>().notNull(),
    trigger: text('trigger').$type<BackupTrigger>().notNull(),
    scheduleId: text('schedule_id'),
    parentId: text('parent_id'),
    /** The chain a synthetic one was merged from. */
    mergedFrom: jsonb('merged_from').$type<string[]>(),
    collections: jsonb('collections').$type<string[]>().notNull(),
    excludeCollections: jsonb('exclude_collections').$type<string[]>().notNull(),
    includeSubcollections: boolean('include_subcollections').notNull(),
    includeAuthUsers: boolean('include_auth_users').notNull(),
    /** Set for what a restore is about to overwrite: these documents and no others. */
    documentPaths: jsonb('document_paths').$type<string[]>(),
    imported: jsonb('imported').$type<ImportRequest>(),
    storageDestinationId: text('storage_destination_id').notNull(),

    /** Let in by the admission and counted against its limits, from then until the end. */
    admittedAt: instant('admitted_at'),
    /** How often the work failed by something that may pass; the death of a worker is not counted. */
    failures: integer('failures').notNull().default(0),
    startedAt: instant('started_at'),
    deadlineAt: instant('deadline_at'),
    completedAt: instant('completed_at'),
    /** Days after completion, when they were given with the backup itself. */
    retentionDays: integer('retention_days'),
    expiresAt: instant('expires_at'),
    /** What retention counts from where that is not the completion: a merged one keeps the time of what it stands for. */
    retainedSince: instant('retained_since'),
    /** The increment whose place a merged backup takes. */
    standsFor: text('stands_for'),
    deletedAt: instant('deleted_at'),
    /** It goes because this one holds the same: that is read and found whole before any object goes. */
    replacedBy: text('replaced_by'),

    plan: jsonb('plan').$type<BackupPlan>(),
    /** The wrapped data key, and the organization's key that opens it. */
    envelope: jsonb('envelope').$type<Envelope>(),
    keyId: text('key_id'),
    snapshotTime: text('snapshot_time'),
    /** The log of changes at a mark of which it was read, or of which it was made; `anyLog`: older than this record. */
    logId: text('log_id'),
    snapshots: jsonb('snapshots').$type<SnapshotShare[]>().notNull().default([]),

    phase: text('phase').notNull(),
    percent: integer('percent').notNull().default(0),
    /** What it waits for at the moment, in words for a person. */
    waitingFor: text('waiting_for'),
    /** The tenth of which the last progress event told. */
    percentTold: integer('percent_told').notNull().default(0),
    documentsExpected: count('documents_expected'),
    documentsDone: count('documents_done').notNull().default(0),
    bytesDone: count('bytes_done').notNull().default(0),
    readsUsed: count('reads_used').notNull().default(0),

    documentCount: count('document_count'),
    /** What an increment writes and deletes. */
    changeCount: count('change_count'),
    size: count('size'),
    compressedSize: count('compressed_size'),
    collectionCount: integer('collection_count'),
    /** Documents per collection, of the larger ones: the next backup is compared with them. */
    collectionCounts: jsonb('collection_counts').$type<Record<string, number>>(),
    anomaly: jsonb('anomaly').$type<StoredAnomaly>(),
    sha256: text('sha256'),
    legalHold: boolean('legal_hold').notNull().default(false),
    lockedUntil: instant('locked_until'),
    verifiedAt: instant('verified_at'),
    verification: jsonb('verification').$type<StoredVerification>(),
    /** The same two for the verification that runs at present. */
    verificationAdmittedAt: instant('verification_admitted_at'),
    verificationFailures: integer('verification_failures').notNull().default(0),
    warnings: jsonb('warnings').$type<string[]>().notNull().default([]),
    error: jsonb('error').$type<StoredError>(),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('backups_by_organization').on(table.organizationId, table.id).where(sql`${table.deletedAt} is null`),
    index('backups_by_project').on(table.organizationId, table.projectId, table.id),
    index('backups_by_status').on(table.organizationId, table.status, table.id),
    index('backups_by_time').on(table.organizationId, table.createdAt, table.id).where(sql`${table.deletedAt} is null`),
    index('backups_by_project_and_status').on(table.organizationId, table.projectId, table.status, table.id),
    index('backups_by_trigger').on(table.organizationId, table.trigger, table.id),
    index('backups_by_type').on(table.organizationId, table.type, table.id),
    index('backups_by_schedule').on(table.organizationId, table.scheduleId, table.id),
    index('backups_open_of_schedule').on(table.scheduleId).where(sql`${table.status} in ('pending', 'running')`),
    index('backups_by_parent').on(table.organizationId, table.parentId),
    index('backups_verifying')
      .on(table.organizationId, table.id)
      .where(sql`${table.verification}->>'status' = 'running'`),
    index('backups_waiting').on(table.createdAt).where(sql`${table.status} = 'pending'`),
    index('backups_running').on(table.organizationId).where(sql`${table.status} = 'running'`),
  ],
).enableRLS();

/** One part of a backup that one worker reads. */
export const backupRanges = pgTable(
  'backup_ranges',
  {
    organizationId: organizationId(),
    backupId: text('backup_id')
      .notNull()
      .references(() => backups.id, { onDelete: 'cascade' }),
    range: integer('range').notNull(),
    /** Rises with every claim. Whoever does not hold the newest writes nothing any more. */
    epoch: integer('epoch').notNull().default(0),
    failures: integer('failures').notNull().default(0),
    isComplete: boolean('is_complete').notNull().default(false),
    /** The engine's own checkpoint. */
    state: jsonb('state').$type<RangeState>(),
    documents: count('documents').notNull().default(0),
    bytes: count('bytes').notNull().default(0),
    reads: count('reads').notNull().default(0),
    updatedAt: instant('updated_at').notNull(),
  },
  (table) => [...tenantPolicies(table.organizationId), primaryKey({ columns: [table.backupId, table.range] })],
).enableRLS();

/** The same backup in one destination. */
export const backupCopies = pgTable(
  'backup_copies',
  {
    organizationId: organizationId(),
    backupId: text('backup_id')
      .notNull()
      .references(() => backups.id, { onDelete: 'cascade' }),
    storageDestinationId: text('storage_destination_id').notNull(),
    position: integer('position').notNull(),
    status: text('status').$type<'pending' | 'writing' | 'completed' | 'failed'>().notNull(),
    error: jsonb('error').$type<StoredError>(),
    /** Until when its locks were prolonged in this very place; null: not yet. */
    lockedUntil: instant('locked_until'),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    primaryKey({ columns: [table.backupId, table.storageDestinationId] }),
    index('backup_copies_by_destination').on(table.organizationId, table.storageDestinationId),
  ],
).enableRLS();
