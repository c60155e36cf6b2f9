import type { CapturePosition, Envelope, JoinedTime, LogGap } from '@holdfast/engine';
import {
  history,
  instant,
  organizationId,
  systemOnlyPolicies,
  tenantPolicies,
} from '../../platform/database/columns.ts';
import { bigint, boolean, index, integer, jsonb, pgTable, primaryKey, sql, text } from '../../platform/database/orm.ts';
import type { StoredError } from '../job-error.ts';
import { organizations } from '../organizations/tables.ts';

/** Changes that no event has reported yet. */
export interface UntoldChanges {
  count: number;
  from: string;
  to: string;
  collections: string[];
}

/** What scans and repeated listening have read, and when: the hourly budget must outlive the worker that spent it. */
export interface SpentReads {
  at: string;
  reads: number;
}

/** The original log is removed together with the log that took its time. */
export type TakenTime = JoinedTime & { readonly storageDestinationId: string };

const count = (name: string) => bigint(name, { mode: 'number' });

/** The log of a project, and who captures it. Instants of the database have nine fractional digits and are text. */
export const pitrLogs = pgTable(
  'pitr_logs',
  {
    projectId: text('project_id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    enabled: boolean('enabled').notNull(),
    storageDestinationId: text('storage_destination_id').notNull(),
    retentionDays: integer('retention_days').notNull(),
    logId: text('log_id').notNull(),
    database: text('database').notNull(),
    envelope: jsonb('envelope').$type<Envelope>().notNull(),
    keyId: text('key_id').notNull(),
    /** Whether the manifest in the bucket has this envelope. */
    manifestWritten: boolean('manifest_written').notNull().default(false),
    startedFrom: text('started_from').notNull(),
    coveredThrough: text('covered_through').notNull(),
    position: jsonb('position').$type<CapturePosition>(),
    /** Time that was taken from other logs of the database, and where their originals lie. */
    joined: jsonb('joined').$type<TakenTime[]>().notNull().default([]),
    nextSequence: integer('next_sequence').notNull().default(0),

    /** The lease: a holder of an older epoch can no longer append. */
    holder: text('holder'),
    epoch: integer('epoch').notNull().default(0),
    heartbeatAt: instant('heartbeat_at'),
    failures: integer('failures').notNull().default(0),
    retryAt: instant('retry_at'),
    error: jsonb('error').$type<StoredError>(),

    readsUsed: count('reads_used').notNull().default(0),
    spentReads: jsonb('spent_reads').$type<SpentReads[]>().notNull().default([]),
    /** Since when the source's own point-in-time recovery keeps whole minutes, as last read; null when it is off. */
    sourceKeepsFrom: text('source_keeps_from'),
    untold: jsonb('untold').$type<UntoldChanges>(),
    toldAt: instant('told_at'),
    anomalyToldAt: instant('anomaly_told_at'),
    reconcileDueAt: instant('reconcile_due_at'),
    lastReconciledAt: instant('last_reconciled_at'),
    compactDueAt: instant('compact_due_at'),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('pitr_logs_by_organization').on(table.organizationId),
    index('pitr_logs_enabled').on(table.heartbeatAt).where(sql`${table.enabled}`),
  ],
).enableRLS();

export type StoredGap = LogGap & {
  /**
   * Set while the segment is missing in storage: all its time is a gap, and its own gap is kept here until it is back.
   */
  readonly lost?: { readonly gap: LogGap | null };
  /** The segments that fill its beginning: first and last sequence of each added run. */
  readonly filledBy?: readonly (readonly [number, number])[];
};

/** The segments of a log: this catalogue saves listing and reading them. */
export const pitrSegments = pgTable(
  'pitr_segments',
  {
    projectId: text('project_id').notNull(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    logId: text('log_id').notNull(),
    sequence: integer('sequence').notNull(),
    key: text('key').notNull(),
    coveredFrom: text('covered_from').notNull(),
    coveredThrough: text('covered_through').notNull(),
    changes: integer('changes').notNull(),
    deletes: integer('deletes').notNull(),
    /** The last exact instant before the first of its deletions. */
    beforeDeletes: text('before_deletes'),
    collections: jsonb('collections').$type<Record<string, number>>().notNull(),
    pathHashes: integer('path_hashes').array().notNull(),
    storedBytes: count('stored_bytes').notNull(),
    gap: jsonb('gap').$type<StoredGap>(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    primaryKey({ columns: [table.logId, table.sequence] }),
    index('pitr_segments_by_time').on(table.logId, table.coveredThrough),
    index('pitr_segments_by_path').using('gin', table.pathHashes),
    index('pitr_segments_gaps').on(table.logId).where(sql`${table.gap} is not null`),
  ],
).enableRLS();

/** The processes that capture, each with a heartbeat. Projects are shared among the living ones. */
export const pitrWorkers = pgTable(
  'pitr_workers',
  { holder: text('holder').primaryKey(), heartbeatAt: instant('heartbeat_at').notNull() },
  () => systemOnlyPolicies(),
).enableRLS();
