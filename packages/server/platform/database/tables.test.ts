import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../testing/test-database.ts';
import { getTableConfig, is, PgTable } from './orm.ts';

const server = fileURLToPath(new URL('../../', import.meta.url));
let drop: () => Promise<void>;
let client: pg.Client;

beforeAll(async () => {
  const database = await createTestDatabase();
  drop = database.drop;
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await drop();
});

async function declaredTables() {
  const paths = globSync(['platform/database/tables.ts', 'modules/*/tables.ts'], { cwd: server });
  const modules = await Promise.all(paths.map((path) => import(new URL(path, `file://${server}`).href)));
  const tables = modules.flatMap((module: object) => Object.values(module)).filter((value) => is(value, PgTable));
  return [...new Set(tables)].map((table) => getTableConfig(table as PgTable));
}

const byName = <Item>(items: readonly (readonly [string, Item])[]) =>
  Object.fromEntries(items.toSorted(([left], [right]) => (left < right ? -1 : 1)));

test('the migrated database has exactly the columns, indexes and policies that the tables declare', async () => {
  const declared = byName(
    (await declaredTables()).map((table) => [
      table.name,
      {
        columns: byName(
          table.columns.map((column) => [
            column.name,
            `${column.getSQLType().replace('timestamp (', 'timestamp(')}${column.notNull ? ' not null' : ''}`,
          ]),
        ),
        indexes: table.indexes.map((index) => index.config.name ?? '').toSorted(),
        policies: table.policies.map((policy) => policy.name).toSorted(),
        rowLevelSecurity: table.enableRLS || table.policies.length > 0,
      },
    ]),
  );
  expect(await migratedTables()).toEqual(declared);
});

async function migratedTables() {
  const { rows } = await client.query(
    `select c.relname as name, c.relrowsecurity as "rowLevelSecurity",
            (select json_object_agg(a.attname, format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end)
               from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
            (select coalesce(json_agg(i.relname order by i.relname), '[]') from pg_index x join pg_class i on i.oid = x.indexrelid
              where x.indrelid = c.oid and not exists (select 1 from pg_constraint k where k.conindid = x.indexrelid and k.contype in ('p', 'u'))) as indexes,
            (select coalesce(json_agg(p.polname order by p.polname), '[]') from pg_policy p where p.polrelid = c.oid) as policies
       from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  return byName(
    rows.map(({ name, columns, indexes, policies, rowLevelSecurity }) => [
      name as string,
      { columns, indexes: indexes.toSorted(), policies: policies.toSorted(), rowLevelSecurity },
    ]),
  );
}
