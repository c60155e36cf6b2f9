import { history, instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { bigint, boolean, index, integer, jsonb, pgTable, sql, text } from '../../platform/database/orm.ts';
import type { StoredError } from '../job-error.ts';
import { organizations } from '../organizations/tables.ts';

export interface RetentionFreeze {
  since: string;
  backupId: string;
  reason: string;
}

/** Firestore databases that are backed up. A disconnected one keeps its row for its remaining backups. */
export const projects = pgTable(
  'projects',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    sourceProjectId: text('source_project_id').notNull(),
    databaseId: text('database_id').notNull(),
    connectionType: text('connection_type').$type<'oauth' | 'service_account' | 'emulator'>().notNull(),
    connectionStatus: text('connection_status').$type<'connected' | 'unauthorized' | 'error'>().notNull(),
    connectionEmail: text('connection_email'),
    /** Whose consent is used. */
    connectionUserId: text('connection_user_id'),
    /** Who was asked to consent again; their next consent is used for this project. */
    reconnectUserId: text('reconnect_user_id'),
    connectionHost: text('connection_host'),
    /** The service account key, sealed. */
    credentials: text('credentials'),
    connectionError: jsonb('connection_error').$type<StoredError>(),
    connectionCheckedAt: instant('connection_checked_at'),
    /** Null: it grows with the number of documents. */
    backupTimeoutMinutes: integer('backup_timeout_minutes'),
    readRateLimit: integer('read_rate_limit'),
    writeRampUp: boolean('write_ramp_up').notNull().default(true),
    includeAuthUsers: boolean('include_auth_users').notNull().default(false),
    /** Set while retention removes nothing of this project. */
    retentionFrozen: jsonb('retention_frozen').$type<RetentionFreeze>(),
    maxReadsPerBackup: bigint('max_reads_per_backup', { mode: 'number' }),
    deletedAt: instant('deleted_at'),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('projects_by_organization').on(table.organizationId, table.id).where(sql`${table.deletedAt} is null`),
    index('projects_by_consent').on(table.connectionUserId),
  ],
).enableRLS();
