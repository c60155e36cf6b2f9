import { history, instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { boolean, index, integer, jsonb, pgTable, sql, text, uniqueIndex } from '../../platform/database/orm.ts';
import { organizations } from '../organizations/tables.ts';
import type { RetentionPolicy } from './retention/rules.ts';

export type RunStatus = 'triggered' | 'completed' | 'failed' | 'missed' | 'skipped';

export interface LastRun {
  runId: string;
  dueAt: string;
  status: RunStatus;
  backupId: string | null;
}

/** When a project is backed up automatically, and how long those backups are kept. */
export const schedules = pgTable(
  'schedules',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    projectId: text('project_id').notNull(),
    name: text('name').notNull(),
    cron: text('cron').notNull(),
    timezone: text('timezone').notNull(),
    enabled: boolean('enabled').notNull(),
    type: text('type').$type<'full' | 'incremental'>().notNull(),
    fullEvery: integer('full_every'),
    collections: jsonb('collections').$type<string[]>().notNull(),
    excludeCollections: jsonb('exclude_collections').$type<string[]>().notNull(),
    includeSubcollections: boolean('include_subcollections').notNull(),
    /** Empty: the organization's default destination. */
    storageDestinationIds: jsonb('storage_destination_ids').$type<string[]>().notNull(),
    retentionDays: integer('retention_days'),
    retentionPolicy: jsonb('retention_policy').$type<RetentionPolicy>(),
    catchUp: text('catch_up').$type<'latest' | 'skip'>().notNull(),
    missedAfterMinutes: integer('missed_after_minutes').notNull(),
    drillEvery: integer('drill_every'),
    verifyEvery: integer('verify_every'),
    /** Since when these due times and this frequency of drills apply. Null: since it was created. */
    promisedSince: instant('promised_since'),
    drillsSince: instant('drills_since'),
    /** Null while it is disabled. Whoever advances it under the row's lock owns the due time it had. */
    nextRunAt: instant('next_run_at'),
    /** Runs that started a backup; every n-th of them is full, verified or drilled. */
    runCount: integer('run_count').notNull().default(0),
    lastRun: jsonb('last_run').$type<LastRun>(),
    createdById: text('created_by_id'),
    createdByEmail: text('created_by_email'),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('schedules_by_organization').on(table.organizationId, table.id),
    index('schedules_by_project').on(table.organizationId, table.projectId, table.id),
    index('schedules_by_enabled').on(table.organizationId, table.enabled, table.id),
    index('schedules_due').on(table.nextRunAt).where(sql`${table.nextRunAt} is not null`),
  ],
).enableRLS();

/** One due time of a schedule, or one run by hand, with its outcome. */
export const scheduleRuns = pgTable(
  'schedule_runs',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId(),
    scheduleId: text('schedule_id')
      .notNull()
      .references(() => schedules.id, { onDelete: 'cascade' }),
    dueAt: instant('due_at').notNull(),
    byHand: boolean('by_hand').notNull(),
    startedAt: instant('started_at'),
    status: text('status').$type<RunStatus>().notNull(),
    reason: text('reason'),
    backupId: text('backup_id'),
    /** Its number among the runs that started a backup. */
    number: integer('number'),
    /** A backup that still waits at this time is late. */
    beginsBefore: instant('begins_before'),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    uniqueIndex('schedule_runs_once').on(table.scheduleId, table.dueAt).where(sql`not ${table.byHand}`),
    index('schedule_runs_newest').on(table.organizationId, table.scheduleId, table.dueAt, table.id),
    index('schedule_runs_by_backup').on(table.backupId).where(sql`${table.backupId} is not null`),
    index('schedule_runs_waiting').on(table.beginsBefore).where(sql`${table.status} = 'triggered'`),
    index('schedule_runs_by_age').on(table.createdAt),
  ],
).enableRLS();

/** Projects that retention has to check again, and when. */
export const retentionChecks = pgTable(
  'retention_checks',
  {
    projectId: text('project_id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    dueAt: instant('due_at').notNull(),
  },
  (table) => [...tenantPolicies(table.organizationId), index('retention_checks_due').on(table.dueAt)],
).enableRLS();
