import {
  history,
  instant,
  organizationId,
  systemOnlyPolicies,
  tenantPolicies,
  tenantRole,
} from '../../platform/database/columns.ts';
import {
  bigint,
  index,
  integer,
  jsonb,
  pgPolicy,
  pgTable,
  primaryKey,
  sql,
  text,
  uniqueIndex,
} from '../../platform/database/orm.ts';
import { users } from '../auth/tables.ts';

export type Role = 'owner' | 'admin' | 'member' | 'viewer';

export interface NotificationSettings {
  emails: string[];
  events: ('backup.failed' | 'schedule.failed' | 'backup.anomaly' | 'pitr.stopped' | 'storage.error')[];
}

export const organizations = pgTable(
  'organizations',
  {
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    plan: text('plan').$type<'starter' | 'professional' | 'enterprise'>().notNull(),
    billingCycle: text('billing_cycle').$type<'monthly' | 'yearly'>().notNull().default('monthly'),
    timezone: text('timezone').notNull().default('UTC'),
    defaultStorageId: text('default_storage_id'),
    /** Who gets which mails; null: owners and admins get all. */
    notifications: jsonb('notifications').$type<NotificationSettings>(),
    deletedAt: instant('deleted_at'),
    recoveryDeadline: instant('recovery_deadline'),
    recoveryKitTakenAt: instant('recovery_kit_taken_at'),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.id),
    uniqueIndex('organizations_slug').on(table.slug),
    index('organizations_to_purge').on(table.recoveryDeadline).where(sql`${table.deletedAt} is not null`),
  ],
).enableRLS();

export const memberships = pgTable(
  'memberships',
  {
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    role: text('role').$type<Role>().notNull(),
    joinedAt: instant('joined_at').notNull(),
    lastActiveAt: instant('last_active_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    primaryKey({ columns: [table.organizationId, table.userId] }),
    index('memberships_by_user').on(table.userId),
    uniqueIndex('memberships_one_owner').on(table.organizationId).where(sql`${table.role} = 'owner'`),
  ],
).enableRLS();

export const invitations = pgTable(
  'invitations',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    email: text('email').notNull(),
    role: text('role').$type<Role>().notNull(),
    status: text('status').$type<'pending' | 'accepted' | 'cancelled' | 'expired'>().notNull(),
    tokenHash: text('token_hash').notNull(),
    invitedById: text('invited_by_id').notNull(),
    invitedByEmail: text('invited_by_email').notNull(),
    createdAt: instant('created_at').notNull(),
    resentAt: instant('resent_at'),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    uniqueIndex('invitations_token').on(table.tokenHash),
    uniqueIndex('invitations_one_pending')
      .on(table.organizationId, sql`lower(${table.email})`)
      .where(sql`${table.status} = 'pending'`),
  ],
).enableRLS();

/** When invitations were mailed, to prevent mail flooding. Kept for a day. */
export const invitationMails = pgTable(
  'invitation_mails',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    email: text('email').notNull(),
    sentAt: instant('sent_at').notNull(),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    index('invitation_mails_by_organization').on(table.organizationId, table.sentAt),
  ],
).enableRLS();

/** One row per mail that a person caused, in any organization, deleted ones included. Kept for a day. */
export const personMails = pgTable(
  'person_mails',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    kind: text('kind').$type<'invitation' | 'notification'>().notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => {
    const ofMembers = sql`exists (select 1 from memberships where memberships.user_id = ${table.userId})`;
    return [
      ...systemOnlyPolicies(),
      pgPolicy('tenant', { to: tenantRole, for: 'all', using: ofMembers, withCheck: ofMembers }),
      index('person_mails_by_person').on(table.userId, table.kind, table.expiresAt),
      index('person_mails_by_expiry').on(table.expiresAt),
    ];
  },
).enableRLS();

export const serviceAccounts = pgTable(
  'service_accounts',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    email: text('email').notNull(),
    permissions: jsonb('permissions').$type<string[]>().notNull(),
    keyHash: text('key_hash').notNull(),
    previousKeyHash: text('previous_key_hash'),
    previousKeyValidUntil: instant('previous_key_valid_until'),
    /** The id of the call that rotated last: `newId` of its origin gives the same id in every try. */
    rotatedBy: text('rotated_by'),
    lastUsedAt: instant('last_used_at'),
    ...history,
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    uniqueIndex('service_accounts_one').on(table.organizationId),
    uniqueIndex('service_accounts_key').on(table.keyHash),
    index('service_accounts_previous_key').on(table.previousKeyHash),
  ],
).enableRLS();

/**
 * Keys that wrap the data keys of an organization's backups, sealed under the master key. A withdrawn key keeps its row
 * without the key: its backups are unreadable until the customer supplies it again. Purging the organization removes
 * the rows, and with them the last way to read its backups.
 */
export const organizationKeys = pgTable(
  'organization_keys',
  {
    id: text('id').primaryKey(),
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    /** Who supplied it: the service, or the customer as a passphrase or a key. */
    kind: text('kind').$type<'service' | 'passphrase' | 'key'>().notNull(),
    sealed: text('sealed'),
    /** The passphrase itself, sealed: backups of another service have other salts. */
    passphrase: text('passphrase'),
    /** How a passphrase became a key, so that the same passphrase gives the same key again. */
    derivation: jsonb('derivation').$type<{ algorithm: 'PBKDF2-HMAC-SHA256'; iterations: number; salt: string }>(),
    /** Identifies the key without revealing it; begins with the key id that envelopes in the bucket show. */
    fingerprint: text('fingerprint').notNull(),
    /** Counts the organization's changes of key; the current key has the highest. */
    version: integer('version').notNull().default(1),
    createdAt: instant('created_at').notNull(),
    activatedAt: instant('activated_at').notNull().default(sql`now()`),
    retiredAt: instant('retired_at'),
  },
  (table) => [
    ...tenantPolicies(table.organizationId),
    uniqueIndex('organization_keys_current').on(table.organizationId).where(sql`${table.retiredAt} is null`),
    uniqueIndex('organization_keys_fingerprint').on(table.organizationId, table.fingerprint),
  ],
).enableRLS();

/** Organizations whose keys were destroyed here: a copy of their keys that a bucket kept is never adopted again. */
export const purgedOrganizations = pgTable(
  'purged_organizations',
  { id: text('id').primaryKey(), purgedAt: instant('purged_at').notNull() },
  () => systemOnlyPolicies(),
).enableRLS();
