import { type AnyPgColumn, integer, pgPolicy, pgRole, sql, text, timestamp } from './orm.ts';

/**
 * Group roles for row-level security. The service's login inherits neither. Each transaction assumes one of them, so a
 * query outside such a transaction reaches no table.
 */
export const tenantRole = pgRole('holdfast_tenant').existing();
const systemRole = pgRole('holdfast_system').existing();

/** The organization of the current transaction, as SQL. Null outside a tenant transaction, so nothing matches. */
const currentOrganization = sql`nullif(current_setting('holdfast.organization_id', true), '')`;

/** Policies of a table whose rows belong to one organization. */
export function tenantPolicies(organizationId: AnyPgColumn) {
  const own = sql`${organizationId} = ${currentOrganization}`;
  return [
    pgPolicy('tenant', { to: tenantRole, for: 'all', using: own, withCheck: own }),
    pgPolicy('system', { to: systemRole, for: 'all', using: sql`true`, withCheck: sql`true` }),
  ];
}

/** Policy of a table that no tenant transaction may see: only the service's own work across organizations. */
export function systemOnlyPolicies() {
  return [pgPolicy('system', { to: systemRole, for: 'all', using: sql`true`, withCheck: sql`true` })];
}

/** Milliseconds are precise enough for people and survive a JavaScript Date. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });

export const organizationId = () => text('organization_id').notNull();

/** Creation and change times, and a version that If-Match is checked against. */
export const history = {
  createdAt: instant('created_at').notNull(),
  updatedAt: instant('updated_at').notNull(),
  version: integer('version').notNull().default(1),
};
