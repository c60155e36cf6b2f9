import type { EventPayload } from '../event-payload.ts';
import { instant, organizationId, systemOnlyPolicies, tenantPolicies } from './columns.ts';
import { bigint, index, integer, json, jsonb, pgTable, primaryKey, sql, text } from './orm.ts';

/** Events written in the transaction of their change; the dispatcher turns them into deliveries and then marks them. */
export const outboxEvents = pgTable(
  'outbox_events',
  {
    id: text('id').primaryKey(),
    /** Position in the order of writing; unlike ids it is assigned by the database. */
    position: bigint('position', { mode: 'bigint' }).generatedAlwaysAsIdentity().notNull(),
    organizationId: organizationId(),
    type: text('type').notNull(),
    /** As text, so that deliveries keep the order of fields the producer chose. */
    payload: json('payload').$type<EventPayload>().notNull(),
    createdAt: instant('created_at').notNull(),
    dispatchedAt: instant('dispatched_at'),
    /** An event that could not be dispatched waits until then, so that later ones do not have to. */
    setAsideUntil: instant('set_aside_until'),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('outbox_events_waiting').on(table.organizationId, table.position).where(sql`${table.dispatchedAt} is null`),
    index('outbox_events_by_organization').on(table.organizationId, table.createdAt),
  ],
).enableRLS();

/** Stored answers of POST calls for replay. The caller is a user or a service account. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /** Organization of the call, or `-` for calls outside any organization. */
    scope: text('scope').notNull(),
    caller: text('caller').notNull(),
    key: text('key').notNull(),
    requestHash: text('request_hash').notNull(),
    /** The id, without its prefix, of what the call creates: a second try uses the same. */
    newId: text('new_id'),
    lockedUntil: instant('locked_until'),
    status: integer('status'),
    headers: jsonb('headers').$type<Record<string, string>>(),
    body: text('body'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    ...systemOnlyPolicies(),
    primaryKey({ columns: [table.scope, table.caller, table.key] }),
    index('idempotency_keys_by_expiry').on(table.expiresAt),
  ],
).enableRLS();

/** Tasks of the scheduler role, and when each one last succeeded. */
export const periodicTasks = pgTable(
  'periodic_tasks',
  {
    name: text('name').primaryKey(),
    everyMs: bigint('every_ms', { mode: 'number' }).notNull(),
    registeredAt: instant('registered_at').notNull(),
    succeededAt: instant('succeeded_at'),
    /** Why it has failed since then. */
    error: text('error'),
  },
  () => systemOnlyPolicies(),
).enableRLS();

/** Sealed values the whole installation shares, such as signing keys. */
export const installationSecrets = pgTable(
  'installation_secrets',
  {
    name: text('name').primaryKey(),
    sealed: text('sealed').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  () => systemOnlyPolicies(),
).enableRLS();

/** Mails that wait for the mail server. Their text is sealed, because their links let people in. */
export const outgoingMails = pgTable(
  'outgoing_mails',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId(),
    sealed: text('sealed').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('outgoing_mails_by_organization').on(table.organizationId),
  ],
).enableRLS();

/**
 * Counters that do not shrink when the counted rows are removed. Each connection adds in its own slot, so that nobody
 * waits.
 */
export const totals = pgTable(
  'totals',
  {
    name: text('name').notNull(),
    status: text('status').notNull(),
    slot: integer('slot').notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
  },
  (table) => [...systemOnlyPolicies(), primaryKey({ columns: [table.name, table.status, table.slot] })],
).enableRLS();
