import { and, desc, eq, getTableColumns, lt, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable, TableConfig } from 'drizzle-orm/pg-core';
import type { Database } from './database.ts';
import { type Statement, selection } from './statement.ts';

/** A table of things that organizations own, whose ids grow with time. */
type OwnedTable = PgTable<TableConfig & { columns: { id: PgColumn; organizationId: PgColumn } }> & {
  id: PgColumn;
  organizationId: PgColumn;
};

export interface PageRequest<Filter extends string> {
  limit: number;
  /** The last id of the page before. */
  before: string | undefined;
  filters?: { readonly [Name in Filter]?: unknown };
}

/**
 * Pages of a table, newest first. `filters` holds one condition per filter, with a placeholder of the filter's name;
 * each combination of filters that somebody asks for becomes one statement.
 */
export function pagesOf<Table extends OwnedTable, Filter extends string = never>(
  table: Table,
  conditions: { always?: SQL; filters?: Readonly<Record<Filter, SQL>> } = {},
) {
  const statements = new Map<string, Statement<Record<string, unknown>, Table['$inferSelect']>>();
  const byName: Readonly<Record<string, SQL>> = {
    ...conditions.filters,
    before: lt(table.id, sql.placeholder('before')),
  };
  const build = (names: readonly string[]) => {
    const mine = eq(table.organizationId, sql.placeholder('organizationId'));
    const which = and(mine, conditions.always, ...names.map((name) => byName[name]));
    const columns = getTableColumns(table as OwnedTable) as Record<string, PgColumn>;
    return selection(columns, (select) =>
      select
        .from(table as OwnedTable)
        .where(which)
        .orderBy(desc(table.id))
        .limit(sql.placeholder('limit')),
    ) as Statement<Record<string, unknown>, Table['$inferSelect']>;
  };
  return async (
    database: Pick<Database, 'read'>,
    organizationId: string,
    { limit, before, filters }: PageRequest<Filter>,
  ): Promise<Table['$inferSelect'][]> => {
    const values: Record<string, unknown> = { ...filters, before };
    const names = Object.keys(byName).filter((name) => values[name] !== undefined);
    const key = names.join();
    const statement = statements.get(key) ?? build(names);
    statements.set(key, statement);
    return await database.read(organizationId, statement, { ...values, organizationId, limit });
  };
}
