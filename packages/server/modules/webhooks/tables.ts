import { history, instant, organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import {
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  uniqueIndex,
} from '../../platform/database/orm.ts';
import { organizations } from '../organizations/tables.ts';

export interface WebhookFilters {
  projects?: string[] | undefined;
  trigger?: string[] | undefined;
  excludeTrigger?: string[] | undefined;
}

export const webhooks = pgTable(
  'webhooks',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    url: text('url').notNull(),
    events: jsonb('events').$type<string[]>().notNull(),
    format: text('format').$type<'standard' | 'simple'>().notNull(),
    enabled: boolean('enabled').notNull(),
    /** Why the service disabled it; null when a person did. */
    disabledBecause: text('disabled_because').$type<'gone'>(),
    sealedSecret: text('sealed_secret'),
    /** The secret before a rotation, which keeps signing together with the new one until then. */
    sealedPreviousSecret: text('sealed_previous_secret'),
    previousSecretValidUntil: instant('previous_secret_valid_until'),
    /** Earlier secrets whose own day is not over: a list, sealed as one value. */
    sealedOlderSecrets: text('sealed_older_secrets'),
    /** Sealed as well: they may be credentials of the receivers. */
    sealedHeaders: text('sealed_headers').notNull(),
    timeoutMs: integer('timeout_ms').notNull(),
    retryEnabled: boolean('retry_enabled').notNull(),
    filters: jsonb('filters').$type<WebhookFilters>().notNull(),
    lastTriggeredAt: instant('last_triggered_at'),
    /** Since when every saved attempt failed; null while deliveries arrive. */
    failingSince: instant('failing_since'),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('webhooks_by_organization').on(table.organizationId, table.id),
  ],
).enableRLS();

/**
 * One event on its way to one webhook; the table is also the queue of what is to be sent. Due: `status` is pending and
 * `next_attempt_at` has passed on the service's clock. Free: no lease, or one that has expired on the database's clock,
 * which all processes share.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId(),
    /** No foreign key: the log of a webhook may be long and is removed later, piece by piece. */
    webhookId: text('webhook_id').notNull(),
    eventId: text('event_id').notNull(),
    eventType: text('event_type').notNull(),
    status: text('status').$type<'pending' | 'delivered' | 'failed'>().notNull(),
    attempts: integer('attempts').notNull().default(0),
    nextAttemptAt: instant('next_attempt_at'),
    leaseUntil: instant('lease_until'),
    /** The process that has the lease; only it may save the outcome. */
    leaseOwner: text('lease_owner'),
    statusCode: integer('status_code'),
    durationMs: integer('duration_ms'),
    lastError: text('last_error'),
    createdAt: instant('created_at').notNull(),
    finishedAt: instant('finished_at'),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    uniqueIndex('webhook_deliveries_once').on(table.eventId, table.webhookId),
    index('webhook_deliveries_due').on(table.webhookId, table.nextAttemptAt).where(sql`${table.status} = 'pending'`),
    index('webhook_deliveries_log').on(table.webhookId, table.id),
    index('webhook_deliveries_by_status').on(table.webhookId, table.status, table.id),
    index('webhook_deliveries_by_event').on(table.webhookId, table.eventType, table.id),
    index('webhook_deliveries_failed').on(table.webhookId, table.finishedAt).where(sql`${table.status} = 'failed'`),
    index('webhook_deliveries_by_age').on(table.createdAt),
  ],
).enableRLS();

/** What was sent and what came back, once per attempt. */
export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    deliveryId: text('delivery_id')
      .notNull()
      .references(() => webhookDeliveries.id, { onDelete: 'cascade' }),
    attempt: integer('attempt').notNull(),
    organizationId: organizationId(),
    sentAt: instant('sent_at').notNull(),
    url: text('url').notNull(),
    /** The sent headers, sealed because of the custom ones among them. */
    sealedHeaders: text('sealed_headers').notNull(),
    body: text('body').notNull(),
    statusCode: integer('status_code'),
    durationMs: integer('duration_ms').notNull(),
    error: text('error'),
    responseBody: text('response_body'),
  },
  (table) => [...tenantPolicies(table.organizationId), primaryKey({ columns: [table.deliveryId, table.attempt] })],
).enableRLS();
