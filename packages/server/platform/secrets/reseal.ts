import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import type { Database, Transaction } from '../database/database.ts';
import type { JobSettings } from '../queue.ts';
import { installationSecretPurpose } from './installation-secret.ts';
import { type MasterKeyring, MissingMasterKey } from './master-keyring.ts';
import type { SealedColumn } from './sealed-columns.ts';

const rowsPerTransaction = 200;
const jobsTable = 'pgboss.job';
const startTable = 'installation_secrets';
const marker = 'master key';

export interface ResealReport {
  /** Number of resealed values, by `table.column`. */
  resealed: Record<string, number>;
  /** Columns with values under another key that are not registered. While there are any, the old key must stay. */
  left: Record<string, number>;
}

/**
 * Reseals everything that is under an earlier master key, in small transactions beside the running service. Can be
 * stopped and repeated at any time. The earlier keys must be in the keyring; when nothing is left, they can be removed.
 */
export async function reseal(
  database: Database,
  keyring: MasterKeyring,
  columns: readonly SealedColumn[],
  jobs: readonly JobSettings[] = [],
): Promise<ResealReport> {
  const resealed: Record<string, number> = {};
  const note = (what: string, count: number) => {
    if (count > 0) resealed[what] = count;
  };
  // A start checks these values: one is resealed first and the others last, so that in between neither key alone is
  // enough.
  await database.system((transaction) => sealMarker(transaction, keyring));
  const ofStart = ({ table }: SealedColumn) => table === startTable;
  note(`${jobsTable}.data`, await database.system((transaction) => resealJobs(transaction, keyring, jobs)));
  for (const column of [...columns.filter((one) => !ofStart(one)), ...columns.filter(ofStart)])
    note(`${column.table}.${column.column}`, await resealColumn(database, keyring, column));
  return { resealed, left: await database.system((transaction) => findStale(transaction, keyring)) };
}

async function resealColumn(database: Database, keyring: MasterKeyring, column: SealedColumn): Promise<number> {
  for (let total = 0; ; ) {
    const count = await database.system((transaction) => resealSome(transaction, keyring, column));
    total += count;
    if (count < rowsPerTransaction) return total;
  }
}

async function resealSome({ client }: Transaction, keyring: MasterKeyring, sealed: SealedColumn): Promise<number> {
  const [table, column, id] = [sealed.table, sealed.column, sealed.identifiedBy].map((name) =>
    pg.escapeIdentifier(name),
  );
  const { rows } = await client.query<{ id: string; envelope: string }>(
    `select ${id} as id, ${column} as envelope from ${table} where ${column} is not null and ${column} not like $1
      limit ${rowsPerTransaction} for update`,
    [keyring.currentEnvelopes],
  );
  for (const row of rows) {
    const envelope = keyring.reseal(row.envelope, sealed.purpose(row.id));
    await client.query(`update ${table} set ${column} = $1 where ${id} = $2 and ${column} = $3`, [
      envelope,
      row.id,
      row.envelope,
    ]);
  }
  return rows.length;
}

async function sealMarker({ client }: Transaction, keyring: MasterKeyring): Promise<void> {
  await client.query(
    `insert into ${startTable} (name, sealed, created_at) values ($1, $2, now())
     on conflict (name) do update set sealed = excluded.sealed where ${startTable}.sealed not like $3`,
    [marker, keyring.seal(marker, installationSecretPurpose(marker)), keyring.currentEnvelopes],
  );
}

/**
 * Some things are only known to waiting jobs, such as a place from which a purged organization still has to be removed.
 */
async function resealJobs(
  { client }: Transaction,
  keyring: MasterKeyring,
  jobs: readonly JobSettings[],
): Promise<number> {
  let count = 0;
  for (const { name, reseal } of jobs) {
    if (!reseal) continue;
    const { rows } = await client.query<{ id: string; data: object }>(
      `select id, data from ${jobsTable} where name = $1 and state in ('created', 'retry', 'active') for update`,
      [name],
    );
    for (const { id, data } of rows) {
      const resealed = resealedUnlessLost(() => reseal(data, keyring));
      if (!resealed || isDeepStrictEqual(resealed, data)) continue;
      await client.query(`update ${jobsTable} set data = $3 where name = $1 and id = $2`, [name, id, resealed]);
      count += 1;
    }
  }
  return count;
}

/** Values under a key that was lost earlier cannot be resealed. */
function resealedUnlessLost<Data>(work: () => Data): Data | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof MissingMasterKey) return undefined;
    throw error;
  }
}

/** Searches every column that can hold text, so that an unregistered one is found before its key is thrown away. */
async function findStale({ client }: Transaction, keyring: MasterKeyring): Promise<Record<string, number>> {
  const { rows: columns } = await client.query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns
      where table_schema = 'public' and data_type in ('text', 'character varying', 'json', 'jsonb')`,
  );
  const found: Record<string, number> = {};
  for (const { table, column } of columns) {
    const value = `${pg.escapeIdentifier(column)}::text`;
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from ${pg.escapeIdentifier(table)}
        where ${value} ~ '(^|")hf1[.][0-9a-f]{12}[.]' and ${value} not like $1 and ${value} not like '%"' || $1`,
      [keyring.currentEnvelopes],
    );
    if (rows[0]?.count) found[`${table}.${column}`] = rows[0].count;
  }
  return found;
}
