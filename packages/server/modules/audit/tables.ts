import { instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { bigint, index, jsonb, pgTable, text, uniqueIndex } from '../../platform/database/orm.ts';

/** What happened in an organization, each row chained to the previous one by its hash. */
export const auditLogs = pgTable(
  'audit_logs',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId(),
    position: bigint('position', { mode: 'number' }).notNull(),
    timestamp: instant('timestamp').notNull(),
    action: text('action').notNull(),
    actorType: text('actor_type').notNull(),
    actorId: text('actor_id'),
    actorEmail: text('actor_email'),
    resourceType: text('resource_type').notNull(),
    resourceId: text('resource_id'),
    ip: text('ip'),
    userAgent: text('user_agent'),
    location: text('location'),
    requestId: text('request_id'),
    details: jsonb('details').$type<Record<string, unknown>>().notNull(),
    previousHash: text('previous_hash').notNull(),
    hash: text('hash').notNull(),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    uniqueIndex('audit_logs_by_position').on(table.organizationId, table.position),
    index('audit_logs_by_action').on(table.organizationId, table.action, table.position),
    index('audit_logs_by_actor').on(table.organizationId, table.actorId, table.position),
    index('audit_logs_by_resource_type').on(table.organizationId, table.resourceType, table.position),
    index('audit_logs_by_resource_id').on(table.organizationId, table.resourceId, table.position),
    index('audit_logs_by_time').on(table.organizationId, table.timestamp, table.position),
  ],
).enableRLS();

/** The end of each organization's chain. Its row lock serializes the writers of one organization. */
export const auditChains = pgTable(
  'audit_chains',
  {
    organizationId: organizationId().primaryKey(),
    position: bigint('position', { mode: 'number' }).notNull(),
    hash: text('hash').notNull(),
    /** The last row's previous hash, kept so that one statement can move the end and write the row. */
    previousHash: text('previous_hash').notNull(),
  },
  (table) => tenantPolicies(table.organizationId),
).enableRLS();

/**
 * Where retention last cut the chain: the hash of the last removed row, signed, so that the rest can still be verified.
 */
export const auditCheckpoints = pgTable(
  'audit_checkpoints',
  {
    organizationId: organizationId().primaryKey(),
    position: bigint('position', { mode: 'number' }).notNull(),
    hash: text('hash').notNull(),
    /** Rows removed so far, by all cuts. */
    removedRows: bigint('removed_rows', { mode: 'number' }).notNull(),
    createdAt: instant('created_at').notNull(),
    signature: text('signature').notNull(),
  },
  (table) => tenantPolicies(table.organizationId),
).enableRLS();
