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

/** How a foreign file is imported as a backup. */
export interface ImportRequest {
  path: string;
  source: 'holdfast' | ForeignFormat;
  createdAt?: string;
  /** The file is one of our backups in its own place: it is removed only when the registered backup is deleted. */
  inPlace?: boolean;
  /** The database of the backup, if it is not the project's. */
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
    /** For a synthetic backup: the chain it was merged from. */
    mergedFrom: jsonb('merged_from').$type<string[]>(),
    collections: jsonb('collections').$type<string[]>().notNull(),
    excludeCollections: jsonb('exclude_collections').$type<string[]>().notNull(),
    includeSubcollections: boolean('include_subcollections').notNull(),
    includeAuthUsers: boolean('include_auth_users').notNull(),
    /** For a safety backup: exactly these documents. */
    documentPaths: jsonb('document_paths').$type<string[]>(),
    imported: jsonb('imported').$type<ImportRequest>(),
    storageDestinationId: text('storage_destination_id').notNull(),

    /** When it was admitted. From then until its end it counts against the limits. */
    admittedAt: instant('admitted_at'),
    /** How many transient failures there were; a worker that died is not counted. */
    failures: integer('failures').notNull().default(0),
    startedAt: instant('started_at'),
    deadlineAt: instant('deadline_at'),
    completedAt: instant('completed_at'),
    /** Days to keep it after completion, when set with the backup itself. */
    retentionDays: integer('retention_days'),
    expiresAt: instant('expires_at'),
    /**
     * From when retention counts, if not from completion: a merged backup keeps the time of the one that it replaces.
     */
    retainedSince: instant('retained_since'),
    /** For a merged backup: the increment that it replaces. */
    standsFor: text('stands_for'),
    deletedAt: instant('deleted_at'),
    /** The backup that replaces it. It is read and found whole before any object is removed. */
    replacedBy: text('replaced_by'),

    plan: jsonb('plan').$type<BackupPlan>(),
    /** The wrapped data key, and the id of the organization's key that opens it. */
    envelope: jsonb('envelope').$type<Envelope>(),
    keyId: text('key_id'),
    snapshotTime: text('snapshot_time'),
    /**
     * The log that continues from this backup: it was read at a mark of that log, or made from it. `anyLog`: older than
     * this column.
     */
    logId: text('log_id'),
    snapshots: jsonb('snapshots').$type<SnapshotShare[]>().notNull().default([]),

    phase: text('phase').notNull(),
    percent: integer('percent').notNull().default(0),
    /** What it is waiting for, in words for a person. */
    waitingFor: text('waiting_for'),
    /** The tenth of the last progress event. */
    percentTold: integer('percent_told').notNull().default(0),
    documentsExpected: count('documents_expected'),
    documentsDone: count('documents_done').notNull().default(0),
    bytesDone: count('bytes_done').notNull().default(0),
    readsUsed: count('reads_used').notNull().default(0),

    documentCount: count('document_count'),
    /** How many changes an increment holds. */
    changeCount: count('change_count'),
    size: count('size'),
    compressedSize: count('compressed_size'),
    collectionCount: integer('collection_count'),
    /** Documents per large collection, for comparison with the next backup. */
    collectionCounts: jsonb('collection_counts').$type<Record<string, number>>(),
    anomaly: jsonb('anomaly').$type<StoredAnomaly>(),
    sha256: text('sha256'),
    legalHold: boolean('legal_hold').notNull().default(false),
    lockedUntil: instant('locked_until'),
    verifiedAt: instant('verified_at'),
    verification: jsonb('verification').$type<StoredVerification>(),
    /** The same two for the current verification. */
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
    /** Increases with every claim. A worker with an older epoch can no longer write. */
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

/** A copy of the backup in one destination. */
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
    /** Until when its locks were extended in this place; null: never. */
    lockedUntil: instant('locked_until'),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    primaryKey({ columns: [table.backupId, table.storageDestinationId] }),
    index('backup_copies_by_destination').on(table.organizationId, table.storageDestinationId),
  ],
).enableRLS();
