import type pg from 'pg';
import { encodeParameter } from './json.ts';
import { drizzle, type NodePgDatabase } from './orm.ts';
import { knownRowReader, learnRowReader, type Statement } from './statement.ts';

const statementsMax = 2000;
/** Values are parsed by the code that knows the columns. */
const asTexts = { getTypeParser: () => (text: string) => text } as pg.CustomTypesConfig;
const statementNames = new Map<string, string>();

/**
 * The connection for one transaction. Afterwards it throws: the connection already serves somebody else, and a late
 * statement would run with their rights.
 */
export class TransactionClient {
  readonly #connection: pg.PoolClient;
  #orm: NodePgDatabase | undefined;
  #hasEnded = false;

  constructor(connection: pg.PoolClient) {
    this.#connection = connection;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as in the driver, the caller names what its statement returns.
  query<Row extends pg.QueryResultRow = any>(
    query: string | pg.QueryConfig,
    values?: readonly unknown[],
  ): Promise<pg.QueryResult<Row>> {
    if (this.#hasEnded) throw new Error('this transaction has ended; its handle cannot be used any more');
    const name = typeof query === 'string' && values?.length ? statementName(query) : undefined;
    const asked = name === undefined ? query : { name, text: query as string };
    return this.#connection.query<Row>(asked as string, values?.map(encodeParameter));
  }

  /** Runs a prepared statement, like `Database.read`, inside this transaction. */
  async read<Values, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]> {
    const { name, text } = statement;
    const asked = { name, text, rowMode: 'array', types: asTexts } as pg.QueryConfig;
    const { rows, fields } = await this.query(asked, statement.bind(values));
    const toRow = knownRowReader(statement) ?? learnRowReader(statement, fields);
    return rows.map(toRow);
  }

  /** The query builder on this transaction. */
  get orm(): NodePgDatabase {
    this.#orm ??= drizzle(preparing(this) as pg.PoolClient);
    return this.#orm;
  }

  end(): void {
    this.#hasEnded = true;
  }
}

/**
 * Statements that return all columns of a table: a newer release may add a column, and a stored plan would then fail.
 */
const hasOpenColumns = (text: string) => /\b(select|returning)\s+\*|\.\*/i.test(text);

/** A name for a statement, under which the server stores its plan. Limited, because some texts vary without end. */
function statementName(text: string): string | undefined {
  const known = statementNames.get(text);
  if (known !== undefined || statementNames.size >= statementsMax || hasOpenColumns(text)) return known;
  const name = `holdfast_${statementNames.size}`;
  statementNames.set(text, name);
  return name;
}

/** Every statement with parameters is parsed and planned once per connection instead of every time. */
function preparing(client: TransactionClient): Pick<pg.PoolClient, 'query'> {
  const query = (config: pg.QueryConfig & { rowMode?: 'array' }, values?: unknown[]) => {
    const name = config.name ?? (values && values.length > 0 ? statementName(config.text) : undefined);
    return client.query(name === undefined ? config : { ...config, name }, values);
  };
  return { query: query as pg.PoolClient['query'] };
}
