import { organizationId, tenantPolicies } from '../../platform/database/columns.ts';
import { bigint, date, pgTable, primaryKey } from '../../platform/database/orm.ts';
import { organizations } from '../organizations/tables.ts';

/** What an organization had stored at the end of a day, and what it read in it. Days in UTC; backups that are gone do not change it. */
export const usageDays = pgTable(
  'usage_days',
  {
    organizationId: organizationId().references(() => organizations.id, { onDelete: 'cascade' }),
    day: date('day').notNull(),
    storedBytes: bigint('stored_bytes', { mode: 'number' }).notNull(),
    readsUsed: bigint('reads_used', { mode: 'number' }).notNull(),
  },
  (table) => [...tenantPolicies(table.organizationId), primaryKey({ columns: [table.organizationId, table.day] })],
).enableRLS();
