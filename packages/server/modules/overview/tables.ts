import { organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { bigint, date, jsonb, pgTable, primaryKey } from '../../platform/database/orm.ts';
import { organizations } from '../organizations/tables.ts';

export interface StoredInDestination {
  storageDestinationId: string;
  storedBytes: number;
}

/**
 * What an organization had stored at the end of a day, and what it read that day. Days are UTC; removing backups does
 * not change them.
 */
export const usageDays = pgTable(
  'usage_days',
  {
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    day: date('day').notNull(),
    storedBytes: bigint('stored_bytes', { mode: 'number' }).notNull(),
    readsUsed: bigint('reads_used', { mode: 'number' }).notNull(),
    /** The stored bytes per destination, largest first. Empty for days that were measured only in total. */
    storedByDestination: jsonb('stored_by_destination').$type<StoredInDestination[]>().notNull().default([]),
  },
  (table) => [...tenantPolicies(table.organizationId), primaryKey({ columns: [table.organizationId, table.day] })],
).enableRLS();
