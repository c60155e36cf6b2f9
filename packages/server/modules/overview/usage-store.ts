import type { Transaction } from '../../platform/database/database.ts';
import { and, asc, eq, gte, sql } from '../../platform/database/orm.ts';
import { usageDays } from './tables.ts';

export type UsageDay = typeof usageDays.$inferSelect;

/** All SQL on the usage of days. */
export const usageStore = {
  /** Reads only grow: what a backup read still counts when the backup is removed. */
  async record({ orm }: Transaction, row: UsageDay): Promise<void> {
    await orm
      .insert(usageDays)
      .values(row)
      .onConflictDoUpdate({
        target: [usageDays.organizationId, usageDays.day],
        set: {
          storedBytes: row.storedBytes,
          storedByDestination: row.storedByDestination,
          readsUsed: sql`greatest(${usageDays.readsUsed}, ${row.readsUsed})`,
        },
      });
  },

  async since({ orm }: Transaction, organizationId: string, day: string): Promise<UsageDay[]> {
    return orm
      .select()
      .from(usageDays)
      .where(and(eq(usageDays.organizationId, organizationId), gte(usageDays.day, day)))
      .orderBy(asc(usageDays.day));
  },

  async removeBefore({ client }: Transaction, day: string): Promise<void> {
    await client.query('delete from usage_days where day < $1', [day]);
  },
};
