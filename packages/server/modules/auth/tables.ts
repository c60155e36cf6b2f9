import { instant, systemOnlyPolicies, tenantRole } from '../../platform/database/columns.ts';
import { boolean, index, pgPolicy, pgTable, sql, text, uniqueIndex } from '../../platform/database/orm.ts';

/** People. A tenant transaction sees the members of its organization and cannot change them. */
export const users = pgTable(
  'users',
  {
    id: text('id').primaryKey(),
    email: text('email').notNull(),
    emailVerified: boolean('email_verified').notNull().default(false),
    name: text('name').notNull(),
    picture: text('picture'),
    /** `<issuer> <subject>` at the identity provider; null for the person of the local sign-in link. */
    providerSubject: text('provider_subject').unique(),
    /** The provider's refresh token, sealed; used for the projects that this person connected by consent. */
    providerRefreshToken: text('provider_refresh_token'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (table) => [
    ...systemOnlyPolicies(),
    pgPolicy('tenant', {
      to: tenantRole,
      for: 'select',
      using: sql`exists (select 1 from memberships where memberships.user_id = ${table.id})`,
    }),
    index('users_by_email').on(sql`lower(${table.email})`),
  ],
).enableRLS();

/** One sign-in on one device, with a family of refresh tokens. Access tokens name it and end with it. */
export const sessions = pgTable(
  'sessions',
  {
    id: text('id').primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    ip: text('ip'),
    userAgent: text('user_agent'),
    createdAt: instant('created_at').notNull(),
    lastUsedAt: instant('last_used_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    ...systemOnlyPolicies(),
    index('sessions_by_user').on(table.userId, table.id),
    index('sessions_by_expiry').on(table.expiresAt),
  ],
).enableRLS();

/**
 * Refresh tokens by hash. A used one keeps its successor, sealed, for the short grace period in which a replay is
 * harmless.
 */
export const refreshTokens = pgTable(
  'refresh_tokens',
  {
    hash: text('hash').primaryKey(),
    sessionId: text('session_id')
      .notNull()
      .references(() => sessions.id, { onDelete: 'cascade' }),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
    successor: text('successor'),
  },
  (table) => [
    ...systemOnlyPolicies(),
    index('refresh_tokens_by_session').on(table.sessionId),
    index('refresh_tokens_by_expiry').on(table.expiresAt),
    index('refresh_tokens_with_successor').on(table.usedAt).where(sql`${table.successor} is not null`),
  ],
).enableRLS();

/** An open sign-in at the identity provider: the values that its answer is checked against. */
export const signInFlows = pgTable(
  'sign_in_flows',
  {
    stateHash: text('state_hash').primaryKey(),
    /** Nonce, code verifier and redirect address, sealed. */
    sealed: text('sealed').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [...systemOnlyPolicies(), index('sign_in_flows_by_expiry').on(table.expiresAt)],
).enableRLS();

/** Codes that open a session once: after a sign-in with `redirect_uri`, or from the local link. */
export const oneTimeCodes = pgTable(
  'one_time_codes',
  {
    hash: text('hash').primaryKey(),
    kind: text('kind').$type<'exchange' | 'local'>().notNull(),
    userId: text('user_id').references(() => users.id, { onDelete: 'cascade' }),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
  },
  (table) => [...systemOnlyPolicies(), index('one_time_codes_by_expiry').on(table.expiresAt)],
).enableRLS();

export const signingKeys = pgTable(
  'signing_keys',
  {
    id: text('id').primaryKey(),
    publicJwk: text('public_jwk').notNull(),
    /** The private key, sealed. Absent once the key is retired and only verifies. */
    privateJwk: text('private_jwk'),
    createdAt: instant('created_at').notNull(),
    retiredAt: instant('retired_at'),
  },
  (table) => [
    ...systemOnlyPolicies(),
    uniqueIndex('signing_keys_one_current').on(sql`(true)`).where(sql`${table.retiredAt} is null`),
  ],
).enableRLS();
