import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { minuteMs, secondMs } from '../durations.ts';
import type { Logger } from '../log.ts';
import { NamedSemaphore } from '../named-semaphore.ts';
import { Problem } from '../problem.ts';
import { corkUntilDone } from './cork.ts';
import { Notices } from './notices.ts';
import type { NodePgDatabase } from './orm.ts';
import { isReadOnly } from './outage.ts';
import { ReadLanes } from './read-lanes.ts';
import { functionCall, type Statement } from './statement.ts';
import { TaskLocks } from './task-locks.ts';
import { TransactionClient } from './transaction-client.ts';
import { UseLocks } from './use-locks.ts';

/** One transaction, in the role of a tenant or of the system. Both handles throw once it has ended. */
export interface Transaction {
  readonly orm: NodePgDatabase;
  readonly client: TransactionClient;
  readonly organizationId: string | null;
  /** Runs after the commit; never runs if there is none. */
  onCommit(action: () => void): void;
}

export interface Database {
  /** Work of one organization: row-level security shows and accepts only its rows. */
  tenant<T>(organizationId: string, work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Work across organizations: sign-in, dispatch, maintenance. Every use deserves a second look. */
  system<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** One read of one organization, in one round trip, under the same row-level security. */
  read<Values, Row>(organizationId: string, statement: Statement<Values, Row>, values: Values): Promise<Row[]>;
  /** One statement without a role: reaches only functions granted to the login, no table. */
  call<Values, Row>(statement: Statement<Values, Row>, values: Values): Promise<Row[]>;
  /** False while the database is read-only. Connections made at such a time are replaced. */
  isWritable(): Promise<boolean>;
  /** Notifications of PostgreSQL, on a separate connection. */
  readonly notices: Notices;
  /** For work that one process does at a time, on a separate connection. */
  readonly taskLocks: TaskLocks;
  /** For what must not be removed while it is read, on a separate connection. */
  readonly useLocks: UseLocks;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  log: Logger;
  /** For tests: a nested transaction is an error, because each could wait for the other's connection. */
  refuseNested?: boolean;
}

const writable = functionCall<[], { writable: boolean }>(
  `select current_setting('transaction_read_only') = 'off' as writable`,
);
const identifierPattern = /^[A-Za-z0-9_-]{1,64}$/;
const attemptsMax = 5;
/** Serialization failure and deadlock: the same work may succeed when it runs again. */
const repeatableCodes = new Set(['40001', '40P01']);

/** No statement, lock wait or forgotten transaction can keep a connection for longer than this. */
export const connectionLimits = {
  connectionTimeoutMillis: 15 * secondMs,
  statement_timeout: minuteMs,
  lock_timeout: 20 * secondMs,
  idle_in_transaction_session_timeout: 2 * minuteMs,
};

/** Identifies the connections of the service's processes. */
export const serviceName = 'holdfast';

/** Temporary tables are searched last: one that was planted on a connection must not replace a table of ours. */
export const searchPathOption = '-c search_path=public,pg_temp';

export function connectDatabase(options: DatabaseOptions): Database {
  const connection = {
    connectionString: options.url,
    application_name: serviceName,
    keepAlive: true,
    options: searchPathOption,
    ...connectionLimits,
  };
  const pool = new pg.Pool({
    ...connection,
    max: options.poolSize,
    idleTimeoutMillis: 30 * secondMs,
    // The first statement of a transaction is sent together with its begin instead of waiting for the answer.
    pipeline: true,
  } as pg.PoolConfig);
  // However much one organization (or person without one) does at once, half of the connections are left for others.
  const places = new NamedSemaphore(Math.max(1, Math.floor(options.poolSize / 2)));
  const onBroken = (error: Error) => options.log.warn({ err: error }, 'an idle database connection broke');
  pool.on('error', onBroken);
  const lanes = new ReadLanes(connection, onBroken);
  const notices = new Notices(connection, options.log);
  const taskLocks = new TaskLocks(connection, options.log);
  const useLocks = new UseLocks(connection, options.log);
  const refuseNested = () => {
    if (options.refuseNested && insideTransaction.getStore())
      throw new Error('a transaction begins inside another one; hand the open transaction down instead');
  };
  return {
    notices,
    taskLocks,
    useLocks,
    tenant: (organizationId, work) => {
      requireIdentifier(organizationId);
      refuseNested();
      const begin = `begin; set local role holdfast_tenant; set local holdfast.organization_id = '${organizationId}'`;
      return repeatedly(() => places.run(organizationId, () => transact(pool, begin, organizationId, work)));
    },
    system: (work) => {
      refuseNested();
      const attempt = () => transact(pool, 'begin; set local role holdfast_system', null, work);
      const caller = madeFor.getStore();
      return repeatedly(() => (caller === undefined ? attempt() : places.run(caller, attempt)));
    },
    read: (organizationId, statement, values) => {
      requireIdentifier(organizationId);
      return lanes.read(organizationId, statement, values);
    },
    call: (statement, values) => lanes.read(null, statement, values),
    isWritable: async () => {
      const [row] = await lanes.read(null, writable, []);
      if (row?.writable !== true) lanes.renew();
      return row?.writable === true;
    },
    close: async () => {
      await Promise.all([notices.close(), taskLocks.close(), useLocks.close(), lanes.close(), pool.end()]);
    },
  };
}

function requireIdentifier(organizationId: string): void {
  if (!identifierPattern.test(organizationId))
    throw new Problem('ORGANIZATION_NOT_FOUND', 'There is no such organization.');
}

async function transact<T>(
  pool: pg.Pool,
  begin: string,
  organizationId: string | null,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const connection = await pool.connect();
  const client = new TransactionClient(connection);
  const afterCommit: (() => void)[] = [];
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  connection.on('error', onError);
  try {
    corkUntilDone(connection.connection.stream);
    const begun = connection.query(begin);
    begun.catch(() => undefined);
    const onCommit = (action: () => void) => afterCommit.push(action);
    const result = await insideTransaction.run(true, () => work({ orm: client.orm, client, organizationId, onCommit }));
    client.end();
    await begun;
    await connection.query('commit');
    for (const action of afterCommit) action();
    return result;
  } catch (error) {
    client.end();
    if (isReadOnly(error)) broken = error as Error;
    await connection.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    connection.off('error', onError);
    connection.release(broken);
  }
}

const insideTransaction = new AsyncLocalStorage<true>();
const madeFor = new AsyncLocalStorage<string>();

/**
 * Runs the answer to a call: its work across organizations also takes places of the caller, so that others keep theirs.
 */
export function answering<T>(caller: string, work: () => Promise<T>): Promise<T> {
  return madeFor.run(caller, work);
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
function databaseErrorCode(error: unknown): string | undefined {
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
