import type { Database } from './database.ts';
import {
  and,
  desc,
  eq,
  getTableColumns,
  gte,
  lt,
  type PgColumn,
  type PgTable,
  type SQL,
  sql,
  type TableConfig,
} from './orm.ts';
import { type Beside, type RowBeside, type Statement, selection } from './statement.ts';

/** A table of things that organizations own, whose ids grow with time. */
type OwnedTable = PgTable<TableConfig & { columns: { id: PgColumn; organizationId: PgColumn } }> & {
  id: PgColumn;
  organizationId: PgColumn;
};

export interface PageRequest<Filter extends string> {
  limit: number;
  /** Where the previous page ended, as written by `placeOf`. */
  before: string | undefined;
  filters?: { readonly [Name in Filter]?: unknown };
}

/** Where a page ends, for the cursor. */
export function placeOf({ id, createdAt }: { id: string; createdAt: Date }): string {
  return `${id} ${createdAt.toISOString()}`;
}

/** Limits the user-written text of a page; one record always fits. */
const pageBytesMax = 4 * 1024 * 1024;

/** Rows of a page that ends before its limit, because the next one would not fit. */
export interface CutRows {
  isCut?: true;
}

/**
 * The columns to select so that no page exceeds its bytes. A row after that comes without its wide columns and its
 * organization, and only shows that there is one. Lists of names may have a megabyte in each of 200 rows.
 */
function shownWithinBytes(columns: Record<string, PgColumn>, order: readonly SQL[]): Record<string, SQL> {
  const wide = Object.entries(columns).filter(([, column]) => column.getSQLType() === 'jsonb');
  if (wide.length === 0) return {};
  const widths = wide.map(([, column]) => sql`coalesce(octet_length(${column}::text), 0)`);
  const before = sql`sum(${sql.join(widths, sql` + `)}) over (order by ${sql.join([...order], sql`, `)} rows between unbounded preceding and 1 preceding)`;
  const within = sql`coalesce(${before}, 0) < ${sql.raw(String(pageBytesMax))}`;
  const cut = [...wide, ['organizationId', columns.organizationId] as const];
  return Object.fromEntries(cut.map(([key, column]) => [key, sql`case when ${within} then ${column} end`]));
}

/**
 * Pages of a table, newest first. `filters` has one condition per filter, with a placeholder of the filter's name; each
 * combination of filters in use becomes one statement. `createdAt` adds the filters `from` and `to`: pages between two
 * times are ordered by the time, which is indexed, instead of the id. What is read `beside` the rows comes in the same
 * round trip.
 */
export function pagesOf<
  Table extends OwnedTable,
  Filter extends string = never,
  Others extends Beside = Record<never, SQL>,
>(
  table: Table,
  conditions: { always?: SQL; filters?: Readonly<Record<Filter, SQL>>; createdAt?: PgColumn; beside?: Others } = {},
) {
  type Row = RowBeside<Table, Others>;
  const { createdAt, beside } = conditions;
  const statements = new Map<string, Statement<Record<string, unknown>, Row>>();
  const byName: Readonly<Record<string, SQL>> = {
    ...conditions.filters,
    ...(createdAt
      ? { from: gte(createdAt, sql.placeholder('from')), to: lt(createdAt, sql.placeholder('to')) }
      : undefined),
  };
  const build = (names: readonly string[]) => {
    const mine = eq(table.organizationId, sql.placeholder('organizationId'));
    const time = names.includes('from') || names.includes('to') ? createdAt : undefined;
    const further = time
      ? sql`(${time}, ${table.id}) < (${sql.placeholder('beforeTime')}::timestamptz, ${sql.placeholder('before')}::text)`
      : lt(table.id, sql.placeholder('before'));
    const which = and(
      mine,
      conditions.always,
      names.includes('before') ? further : undefined,
      ...names.map((name) => byName[name]),
    );
    const columns = getTableColumns(table as OwnedTable) as Record<string, PgColumn>;
    const order = [...(time ? [desc(time)] : []), desc(table.id)];
    return selection(
      columns,
      (select) =>
        select
          .from(table as OwnedTable)
          .where(which)
          .orderBy(...order)
          .limit(sql.placeholder('limit')),
      { shown: shownWithinBytes(columns, order), ...(beside && { beside }) },
    ) as Statement<Record<string, unknown>, Row>;
  };
  return async (
    database: Pick<Database, 'read'>,
    organizationId: string,
    { limit, before, filters }: PageRequest<Filter | 'from' | 'to'>,
  ): Promise<Row[] & CutRows> => {
    const [beforeId, beforeTime] = before?.split(' ') ?? [];
    const values: Record<string, unknown> = { ...filters, before: beforeId, beforeTime };
    const names = [...Object.keys(byName), 'before'].filter((name) => values[name] !== undefined);
    const key = names.join();
    const statement = statements.get(key) ?? build(names);
    statements.set(key, statement);
    const rows = await database.read(organizationId, statement, { ...values, organizationId, limit });
    const end = rows.findIndex((row) => row.organizationId === null);
    return end === -1 ? rows : Object.assign(rows.slice(0, end), { isCut: true as const });
  };
}
