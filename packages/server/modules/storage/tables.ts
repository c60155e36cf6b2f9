import type { DataOf, Operations } from '@holdfast/contract';
import { history, instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { boolean, index, integer, jsonb, pgTable, sql, text } from '../../platform/database/orm.ts';
import type { StoredError } from '../job-error.ts';
import { organizations } from '../organizations/tables.ts';

export type StorageType = 's3' | 'gcs' | 'spaces' | 'local';

/** The last full test; a quick check does not change it. */
export type StoredTest = NonNullable<DataOf<Operations['getStorageDestination']>['lastTest']>;

/** Places for backups that belong to the customer. */
export const storageDestinations = pgTable(
  'storage_destinations',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    type: text('type').$type<StorageType>().notNull(),
    bucket: text('bucket'),
    region: text('region'),
    endpoint: text('endpoint'),
    prefix: text('prefix').notNull().default(''),
    /** Folder of a local destination, below the data folder. */
    path: text('path'),
    forcePathStyle: boolean('force_path_style').notNull().default(false),
    objectLock: jsonb('object_lock').$type<{ mode: 'governance' | 'compliance'; days: number }>(),
    /** Sealed. */
    credentials: text('credentials'),
    status: text('status').$type<'connected' | 'error'>().notNull(),
    error: jsonb('error').$type<StoredError>(),
    lastCheckedAt: instant('last_checked_at'),
    lastTest: jsonb('last_test').$type<StoredTest>(),
    /** Records of the same place have the same id here. Null until a probe has found out. */
    placeId: text('place_id'),
    deletedAt: instant('deleted_at'),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('storage_destinations_by_organization')
      .on(table.organizationId, table.id)
      .where(sql`${table.deletedAt} is null`),
  ],
).enableRLS();

export interface TaskProgress {
  percent: number;
  phase: string;
  documents: number;
  bytes: number;
  etaSeconds: number | null;
}

export interface TaskResult {
  found?: number;
  registered?: number;
  relinked?: number;
  missing?: number;
  skipped?: number;
  removed?: number;
  copied?: number;
  stillUsedBy?: { type: string; id: string }[];
  versionsKept?: boolean;
  locked?: number;
  removable?: number;
  /** Set from the beginning, because the purge was requested like this. */
  dryRun?: boolean;
  bytes?: number;
  failures?: { key: string; reason: string }[];
}

/** Rescans, sweeps, purges and migrations of a destination. */
export const storageTasks = pgTable(
  'storage_tasks',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    storageDestinationId: text('storage_destination_id').notNull(),
    kind: text('kind').$type<'rescan' | 'sweep' | 'migrate' | 'purge'>().notNull(),
    status: text('status').$type<'pending' | 'running' | 'completed' | 'failed' | 'cancelled'>().notNull(),
    /** Where a migration goes. */
    toStorageDestinationId: text('to_storage_destination_id'),
    progress: jsonb('progress').$type<TaskProgress>().notNull(),
    result: jsonb('result').$type<TaskResult>(),
    error: jsonb('error').$type<StoredError>(),
    admittedAt: instant('admitted_at'),
    failures: integer('failures').notNull().default(0),
    createdAt: instant('created_at').notNull(),
    completedAt: instant('completed_at'),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('storage_tasks_by_destination').on(table.organizationId, table.storageDestinationId, table.id),
    index('storage_tasks_open')
      .on(table.organizationId, table.id)
      .where(sql`${table.status} in ('pending', 'running')`),
  ],
).enableRLS();
