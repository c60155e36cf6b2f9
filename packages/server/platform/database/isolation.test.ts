import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { organizations } from '../../modules/organizations/tables.ts';
import { connected } from '../../testing/connected.ts';
import { asOwner } from '../../testing/people.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { sql } from './orm.ts';
import { functionCall } from './statement.ts';
import { outboxEvents } from './tables.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
  for (const id of ['org_A', 'org_B']) {
    await app.platform.database.tenant(id, async (transaction) => {
      const now = app.platform.clock.now();
      await transaction.orm
        .insert(organizations)
        .values({ id, name: id, slug: id.toLowerCase(), plan: 'enterprise', createdAt: now, updatedAt: now });
      await app.platform.outbox.emit(transaction, {
        organizationId: id,
        type: 'organization.created',
        payload: { data: {} },
      });
    });
  }
});
afterAll(() => app.close());

test('a query that forgets its where returns nothing of another tenant, through the pool', async () => {
  const { database } = app.platform;
  for (let round = 0; round < 40; round++) {
    const [a, b] = await Promise.all([
      database.tenant('org_A', ({ orm }) => orm.select().from(organizations)),
      database.tenant('org_B', ({ orm }) => orm.select().from(organizations)),
    ]);
    expect(a.map((row) => row.id)).toEqual(['org_A']);
    expect(b.map((row) => row.id)).toEqual(['org_B']);
  }
});

test('an update or delete that forgets its where leaves another tenant alone', async () => {
  const { database } = app.platform;
  await database.tenant('org_A', ({ orm }) => orm.update(organizations).set({ name: 'changed' }));
  await database.tenant('org_A', ({ orm }) => orm.delete(outboxEvents));
  const left = await database.system(async ({ orm }) => ({
    names: (await orm.select().from(organizations)).map((row) => row.name).sort(),
    events: (await orm.select().from(outboxEvents)).map((row) => row.organizationId),
  }));
  expect(left).toEqual({ names: ['changed', 'org_B'], events: ['org_B'] });
});

test('a row cannot be written into another tenant', async () => {
  const attempt = app.platform.database.tenant('org_A', (transaction) =>
    app.platform.outbox.emit(transaction, { organizationId: 'org_B', type: 'x', payload: { data: {} } }),
  );
  await expect(attempt).rejects.toThrow();
});

test('outside a transaction the service reaches no table at all', async () => {
  await expect(app.platform.database.call(functionCall('select * from organizations'), [])).rejects.toThrow(
    /permission denied/,
  );
});

test('the organization of a transaction does not outlive it on the pooled connection', async () => {
  const { database } = app.platform;
  await database.tenant('org_A', async ({ orm }) => orm.execute(sql`select 1`));
  const settings = await Promise.all(
    Array.from({ length: 20 }, () =>
      database.call(
        functionCall<[], { value: string | null }>("select current_setting('holdfast.organization_id', true) as value"),
        [],
      ),
    ),
  );
  expect(new Set(settings.map(([row]) => row?.value ?? ''))).toEqual(new Set(['']));
});

test('temporary tables and functions planted on a connection replace none of ours', async () => {
  const { database, ids } = app.platform;
  const seen = await database.tenant('org_A', async ({ client }) => {
    await client.query(`create temp table organizations on commit drop as select 'org_PLANTED' as id`);
    await client.query(
      `create function pg_temp.current_setting(text, boolean) returns text language sql as $$ select 'org_B' $$`,
    );
    return (await client.query('select id from organizations')).rows;
  });
  expect(seen).toEqual([{ id: 'org_A' }]);
  const planted = `
    create temp table service_accounts (id text, organization_id text, key_hash text, email text, permissions jsonb,
      previous_key_hash text, previous_key_valid_until timestamptz, last_used_at timestamptz);
    insert into service_accounts values ('${ids.next('sa')}', 'org_B', 'planted', 'x', '[]');`;
  await asLogin(async (client) => {
    await client.query(planted);
    const { rows } = await client.query(`select * from holdfast_identify_owned_key('planted', now())`);
    expect(rows).toEqual([]);
  });
  const paths = await asOwner(app.databaseUrl, (client) =>
    client.query(
      `select proname from pg_proc where pronamespace = 'public'::regnamespace and proname like 'holdfast%'
         and not coalesce(array_to_string(proconfig, ',') ~ 'search_path=.*pg_temp$', false)`,
    ),
  );
  expect(paths.rows).toEqual([]);
});

test('a tenant adds its own jobs to the queue and can do nothing else there, and the bare login can do nothing at all', async () => {
  const { database } = app.platform;
  const add = (organizationId: string) =>
    `insert into pgboss.job_common (name, data) values ('send-mail', '{"organizationId":"${organizationId}"}') returning id`;
  const asTenant = (text: string) =>
    database.tenant('org_A', async ({ client }) => (await client.query(text)).rowCount);
  expect(await asTenant(add('org_A'))).toBe(1);
  await database.system(({ client }) => client.query(add('org_B')));
  expect(await asTenant('select id from pgboss.job_common')).toBe(1);
  const refused = [
    add('org_B'),
    'select data from pgboss.job_common',
    'select * from pgboss.job',
    'update pgboss.job_common set priority = 9',
    'delete from pgboss.job_common',
    'update pgboss.queue set retry_limit = 0',
    'select * from pgboss.queue',
    `select pgboss.delete_queue('send-mail')`,
  ];
  for (const text of refused)
    await expect(asTenant(text), text).rejects.toThrow(/permission denied|row-level security/);
  await asLogin(async (client) => {
    for (const text of [add('org_A'), ...refused])
      await expect(client.query(text), text).rejects.toThrow(/permission denied/);
  });
  await database.system(({ client }) => client.query(`delete from pgboss.job where name = 'send-mail'`));
});

/** With the login of the service, without any of its roles. */
async function asLogin(work: (client: pg.Client) => Promise<void>): Promise<void> {
  const url = new URL(app.databaseUrl);
  url.username = `holdfast_login_${url.pathname.slice(1)}`;
  url.password = app.platform.keyring.derive('database login').toString('base64url');
  await connected(url.href, work);
}

test('every table has row-level security with a policy, and the login neither owns nor bypasses anything', async () => {
  const found = await asOwner(app.databaseUrl, async (client) => ({
    unprotected: (
      await client.query(
        `select relname from pg_class c where relnamespace = 'public'::regnamespace and relkind = 'r' and (not relrowsecurity or not exists (select 1 from pg_policy where polrelid = c.oid))`,
      )
    ).rows,
    tenantless: (
      await client.query(
        `select table_name from information_schema.columns c where table_schema = 'public' and column_name = 'organization_id' and not exists (select 1 from pg_policy where polrelid = c.table_name::regclass and 'holdfast_tenant'::regrole = any(polroles) and pg_get_expr(polqual, polrelid) like '%organization_id%')`,
      )
    ).rows,
    login: (
      await client.query(
        `select rolsuper, rolbypassrls, rolinherit, rolcreaterole, rolcreatedb from pg_roles where rolname = $1`,
        [`holdfast_login_${new URL(app.databaseUrl).pathname.slice(1)}`],
      )
    ).rows,
    owned: (
      await client.query(
        `select count(*)::int as count from pg_class where relnamespace = 'public'::regnamespace and pg_get_userbyid(relowner) like 'holdfast_login%'`,
      )
    ).rows,
  }));
  expect(found).toEqual({
    unprotected: [],
    tenantless: [],
    login: [{ rolsuper: false, rolbypassrls: false, rolinherit: false, rolcreaterole: false, rolcreatedb: false }],
    owned: [{ count: 0 }],
  });
});
