import pg from 'pg';
import {
  fillPlaceholders,
  getTableColumns,
  type PgColumn,
  PgDialect,
  type PgTable,
  QueryBuilder,
  type SQL,
  type SQLWrapper,
} from './orm.ts';

/** What the server says about a column of a result. */
export interface ResultField {
  readonly name: string;
  readonly dataTypeID: number;
}

export type ResultRow = readonly (string | null)[];

/** A read whose text never changes: built once, planned once per connection, run with different values. */
export interface Statement<Values, Row> {
  readonly name: string;
  readonly text: string;
  bind(values: Values): readonly unknown[];
  /** Built once, from the server's description of the result. */
  rowReader(fields: readonly ResultField[]): (row: ResultRow) => Row;
}

type RowOf<Columns extends Record<string, PgColumn>> = {
  [Key in keyof Columns]: Columns[Key]['_']['notNull'] extends true
    ? Columns[Key]['_']['data']
    : Columns[Key]['_']['data'] | null;
};

const dialect = new PgDialect();
let count = 0;

/** Never reuses a name: a connection keeps the statement that it first got under a name. */
function nextName(): string {
  count += 1;
  return `holdfast_read_${count}`;
}

const selecting = <Columns extends Record<string, PgColumn>>(columns: Columns) => new QueryBuilder().select(columns);

/** Additional reads from other tables. Inside them, columns are named in SQL text. */
export type Beside = Readonly<Record<string, SQL>>;
type BesideOf<Others extends Beside> = { [Key in keyof Others]: Others[Key] extends SQL<infer Value> ? Value : never };

/** A row of a table with the additional reads. */
export type RowBeside<Table extends PgTable, Others extends Beside> = Table['$inferSelect'] & BesideOf<Others>;

/**
 * A selection of table columns; variable parts are a `sql.placeholder`. An expression of the same type may be `shown`
 * instead of a column.
 */
export function selection<Columns extends Record<string, PgColumn>, Others extends Beside = Record<never, SQL>>(
  columns: Columns,
  build: (select: ReturnType<typeof selecting<Columns>>) => SQLWrapper,
  { shown, beside }: { readonly shown?: { readonly [Key in keyof Columns]?: SQL }; readonly beside?: Others } = {},
): Statement<Record<string, unknown>, RowOf<Columns> & BesideOf<Others>> {
  const { sql: text, params } = dialect.sqlToQuery(build(selecting({ ...columns, ...shown, ...beside })).getSQL());
  const entries = Object.entries(columns);
  const besides = Object.keys(beside ?? {}).map((key, index) => [key, entries.length + index] as const);
  return {
    name: nextName(),
    text,
    bind: (values) => fillPlaceholders(params, values),
    rowReader: (fields) => {
      const parsers = fields.map(({ dataTypeID }) => parserBelowColumns(dataTypeID));
      return (row) => {
        const read: Record<string, unknown> = {};
        for (const [index, [key, column]] of entries.entries()) {
          const value = row[index] ?? null;
          read[key] = value === null ? null : column.mapFromDriverValue(parsers[index]!(value));
        }
        for (const [key, index] of besides) {
          const value = row[index] ?? null;
          read[key] = value === null ? null : parsers[index]!(value);
        }
        return read as RowOf<Columns> & BesideOf<Others>;
      };
    },
  };
}

/**
 * The whole rows that match `which`; variable parts are a `sql.placeholder`. Jobs read the same few records all the
 * time, and building the text of such a query takes longer than the database needs to answer it.
 */
export function rowsWhere<Table extends PgTable, Others extends Beside = Record<never, SQL>>(
  table: Table,
  which: SQL | undefined,
  {
    orderBy,
    lock,
    beside,
  }: {
    readonly orderBy?: SQL;
    readonly lock?: 'update' | 'no key update' | 'key share';
    readonly beside?: Others;
  } = {},
): Statement<Record<string, unknown>, RowBeside<Table, Others>> {
  const columns = getTableColumns(table as PgTable) as Record<string, PgColumn>;
  const build = (select: ReturnType<typeof selecting>) => {
    const query = select
      .from(table as PgTable)
      .where(which)
      .orderBy(...(orderBy ? [orderBy] : []));
    return lock ? query.for(lock) : query;
  };
  return selection(columns, build, beside && { beside }) as Statement<
    Record<string, unknown>,
    RowBeside<Table, Others>
  >;
}

// biome-ignore lint/suspicious/noExplicitAny: how a result is read depends on its statement, which is the key.
const rowReaders = new WeakMap<Statement<any, any>, (row: ResultRow) => any>();

/** Undefined until the server has described this statement's result once. */
export function knownRowReader<Values, Row>(statement: Statement<Values, Row>): ((row: ResultRow) => Row) | undefined {
  return rowReaders.get(statement);
}

export function learnRowReader<Values, Row>(
  statement: Statement<Values, Row>,
  fields: readonly ResultField[],
): (row: ResultRow) => Row {
  const reader = statement.rowReader(fields);
  rowReaders.set(statement, reader);
  return reader;
}

/** A call of a database function; its rows are parsed by the driver. */
export function functionCall<Values extends readonly unknown[], Row>(text: string): Statement<Values, Row> {
  return {
    name: nextName(),
    text,
    bind: (values) => values,
    rowReader: (fields) => {
      const parsers = fields.map(({ dataTypeID }) => pg.types.getTypeParser(dataTypeID, 'text') as Parser);
      return (row) =>
        Object.fromEntries(
          fields.map(({ name }, index) => {
            const value = row[index] ?? null;
            return [name, value === null ? null : parsers[index]!(value)];
          }),
        ) as Row;
    },
  };
}

type Parser = (value: string) => unknown;
const { TIMESTAMPTZ, TIMESTAMP, DATE, INTERVAL } = pg.types.builtins;
const readByColumns = new Set<number>([TIMESTAMPTZ, TIMESTAMP, DATE, INTERVAL]);

/** Columns of the schema parse timestamps from text themselves. */
function parserBelowColumns(dataTypeID: number): Parser {
  return readByColumns.has(dataTypeID) ? (value) => value : (pg.types.getTypeParser(dataTypeID, 'text') as Parser);
}
