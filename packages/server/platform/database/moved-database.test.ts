import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { databaseFunctions, jobDefinitions } from '../../modules/declarations.ts';
import { connected } from '../../testing/connected.ts';
import { createTestDatabase } from '../../testing/test-database.ts';
import { createLogger } from '../log.ts';
import { prepareQueue, queueFingerprint } from '../queue.ts';
import { MasterKeyring } from '../secrets/master-keyring.ts';
import { prepareDatabase } from './migrate.ts';

const roles = ['holdfast_tenant', 'holdfast_system', 'holdfast_queue'];
const keyring = new MasterKeyring(Buffer.alloc(32, 7));
let url: string;
let drop: () => Promise<void>;
beforeAll(async () => {
  ({ url, drop } = await createTestDatabase());
});
afterAll(() => drop());

const prepare = () =>
  prepareDatabase({
    ownerUrl: url,
    keyring,
    log: createLogger('silent'),
    functions: databaseFunctions,
    afterTables: (ownerUrl) => prepareQueue(ownerUrl, jobDefinitions),
    fingerprint: queueFingerprint(jobDefinitions),
  });

/** Every policy with its text, and every right on tables, functions and schemas. */
async function protection(login: string): Promise<unknown> {
  return connected(url, async (client) => {
    const policies = await client.query('select * from pg_policies order by schemaname, tablename, policyname');
    const rights = await client.query(
      `select nspname || '.' || relname as object, array(select unnest(relacl)::text order by 1) as acl
         from pg_class c join pg_namespace n on n.oid = relnamespace
        where nspname in ('public', 'pgboss') and relkind in ('r', 'p', 'S') order by 1`,
    );
    const functions = await client.query(
      `select p.oid::regprocedure::text as object, has_function_privilege($1, p.oid, 'execute') as may
         from pg_proc p where pronamespace in ('public'::regnamespace, 'pgboss'::regnamespace) order by 1`,
      [login],
    );
    return { policies: policies.rows, rights: rights.rows, functions: functions.rows };
  });
}

/** Removes what a restored dump lacks on a server without our roles: everything that names one of them. */
async function loseRoles(login: string): Promise<void> {
  await connected(url, async (client) => {
    await client.query(`drop owned by ${[...roles, pg.escapeIdentifier(login)].join(', ')}`);
    await client.query(`drop role ${pg.escapeIdentifier(login)}`);
  });
}

test('a database that was moved without its roles is whole again after a start', async () => {
  const login = new URL(await prepare()).username;
  const before = await protection(login);
  await loseRoles(login);
  await connected(url, async (client) => {
    expect((await client.query("select 1 from pg_policies where schemaname = 'public'")).rows).toEqual([]);
  });
  const again = await prepare();
  expect(await protection(login)).toEqual(before);
  await connected(again, async (client) => {
    await client.query('begin; set local role holdfast_tenant');
    expect((await client.query('select * from backups')).rows).toEqual([]);
    await client.query('rollback');
  });
});

test('a start that finds everything in place changes nothing', async () => {
  const login = new URL(await prepare()).username;
  const before = await protection(login);
  await prepare();
  expect(await protection(login)).toEqual(before);
});
