import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import type { Logger } from '../log.ts';
import { ReadLanes } from './read-lanes.ts';
import type { Statement } from './statement.ts';

/** One transaction, wearing the role of a tenant or of the system. */
export interface Transaction {
  readonly orm: NodePgDatabase;
  readonly client: pg.PoolClient;
  readonly organizationId: string | null;
  /** Runs after the commit, and not at all if there is none. */
  onCommit(action: () => void): void;
}

export interface Database {
  /** Work of one organization: row-level security shows and accepts its rows only. */
  tenant<T>(organizationId: string, work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Work across organizations: sign-in, dispatch, house-keeping. Every use is a place to look twice. */
  system<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** One read of one organization, in one round trip, under the same row-level security. */
  read<Values, Row>(organizationId: string, statement: Statement<Values, Row>, values: Values): Promise<Row[]>;
  /** One statement without a role: reaches only functions granted to the login, no table. */
  call<Values, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]>;
  /** The pool itself, for the queue's own connection handling. */
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

const identifierPattern = /^[A-Za-z0-9_-]{1,64}$/;
const attemptsMax = 5;
/** Serialization failure, deadlock: the same work may well succeed when it runs again. */
const repeatableCodes = new Set(['40001', '40P01']);

export function connectDatabase(options: { url: string; poolSize: number; log: Logger }): Database {
  const connection = {
    connectionString: options.url,
    connectionTimeoutMillis: 15_000,
    application_name: 'holdfast',
    keepAlive: true,
  };
  const pool = new pg.Pool({
    ...connection,
    max: options.poolSize,
    idleTimeoutMillis: 30_000,
    // What a transaction asks first travels right behind its begin instead of waiting for the answer to it.
    pipeline: true,
  } as pg.PoolConfig);
  const onBroken = (error: Error) => options.log.warn({ err: error }, 'an idle database connection broke');
  pool.on('error', onBroken);
  const lanes = new ReadLanes(connection, onBroken);
  return {
    pool,
    tenant: (organizationId, work) => {
      requireIdentifier(organizationId);
      const begin = `begin; set local role holdfast_tenant; set local holdfast.organization_id = '${organizationId}'`;
      return repeatedly(() => transact(pool, begin, organizationId, work));
    },
    system: (work) => repeatedly(() => transact(pool, 'begin; set local role holdfast_system', null, work)),
    read: (organizationId, statement, values) => {
      requireIdentifier(organizationId);
      return lanes.read(organizationId, statement, values);
    },
    call: (statement, values) => lanes.read(null, statement, values),
    close: async () => {
      await Promise.all([lanes.close(), pool.end()]);
    },
  };
}

function requireIdentifier(organizationId: string): void {
  if (!identifierPattern.test(organizationId)) throw new Error('an organization id is not well formed');
}

async function transact<T>(
  pool: pg.Pool,
  begin: string,
  organizationId: string | null,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const afterCommit: (() => void)[] = [];
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    const begun = client.query(begin);
    begun.catch(() => undefined);
    const result = await work({
      orm: ormOf(client),
      client,
      organizationId,
      onCommit: (action) => afterCommit.push(action),
    });
    await begun;
    await client.query('commit');
    for (const action of afterCommit) action();
    return result;
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

const orms = new WeakMap<pg.PoolClient, NodePgDatabase>();

/** One query builder per connection, made once. */
function ormOf(client: pg.PoolClient): NodePgDatabase {
  const known = orms.get(client);
  if (known) return known;
  const orm = drizzle(preparing(client) as pg.PoolClient);
  orms.set(client, orm);
  return orm;
}

const statementsMax = 2000;
const statements = new Map<string, string>();

/** A name for a statement that has come before; the server keeps its plan under it. Bounded: texts that vary without end are not kept. */
function statementName(text: string): string | undefined {
  const known = statements.get(text);
  if (known !== undefined || statements.size >= statementsMax) return known;
  const name = `holdfast_${statements.size}`;
  statements.set(text, name);
  return name;
}

/** The same connection, but every statement with parameters is parsed and planned once per connection instead of every time. */
function preparing(client: pg.PoolClient): Pick<pg.PoolClient, 'query'> {
  const query = (config: pg.QueryConfig & { rowMode?: 'array' }, values?: unknown[]) => {
    const name = config.name ?? (values && values.length > 0 ? statementName(config.text) : undefined);
    return client.query(name === undefined ? config : { ...config, name }, values);
  };
  return { query: query as pg.PoolClient['query'] };
}

async function repeatedly<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (count >= attemptsMax || !repeatableCodes.has(databaseErrorCode(error) ?? '')) throw error;
    }
  }
}

/** The SQLSTATE of a failed statement, also when the query builder wrapped it. */
export function databaseErrorCode(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof pg.DatabaseError) return current.code;
  }
  return undefined;
}

export function violatedConstraint(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof pg.DatabaseError && current.code === '23505') return current.constraint;
  }
  return undefined;
}
