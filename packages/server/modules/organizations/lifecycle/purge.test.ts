import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantTables } from '../../../platform/database/tenant-tables.ts';
import { asOwner } from '../../../testing/people.ts';
import { addMember, foundOrganization, type TestOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';
import type { LaterModules, OrganizationsContext, PurgeHook } from '../context.ts';
import { purgeTask } from './purge-organization.ts';

const current = '/api/v1/organizations/current';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
  // A table of a later module, with a reference that does not cascade: the purge has to find it and its order by
  // itself.
  await asOwner(app.databaseUrl, (client) =>
    client.query(`
      create table a_parents (id text primary key, organization_id text not null references organizations (id));
      create table z_children (id text primary key, organization_id text not null, parent text not null references a_parents (id));
      grant select, insert, delete on a_parents, z_children to holdfast_system;`),
  );
});
afterAll(() => app.close());

const call = (organization: TestOrganization) => ({ token: organization.owner.token, organizationId: organization.id });
const remove = (organization: TestOrganization, force: boolean) =>
  app.request('POST', `${current}/delete`, { ...call(organization), body: { confirmName: organization.name, force } });

async function lived(): Promise<TestOrganization> {
  const organization = await foundOrganization(app);
  await addMember(app, organization.id, 'admin');
  await app.request('POST', `${current}/service-account`, { ...call(organization), body: { name: 'ci' } });
  await app.request('POST', `${current}/invites`, {
    ...call(organization),
    body: { email: 'x@example.com' },
    headers: { 'idempotency-key': 'k' },
  });
  await asOwner(app.databaseUrl, (client) =>
    client.query(
      `with parent as (insert into a_parents values ($1 || 'p', $1) returning id) insert into z_children select $1 || 'c', $1, id from parent`,
      [organization.id],
    ),
  );
  return organization;
}

/** The number of rows of an organization in each table. */
const rowsOf = (organizationId: string) =>
  asOwner(app.databaseUrl, async (client) => {
    const counts: Record<string, number> = {};
    for (const table of await tenantTables(client)) {
      const { rows } = await client.query(`select count(*)::int as n from ${table} where organization_id = $1`, [
        organizationId,
      ]);
      if (rows[0].n > 0) counts[table] = rows[0].n;
    }
    const answers = await client.query('select 1 from idempotency_keys where scope = $1', [organizationId]);
    if (answers.rowCount) counts.idempotency_keys = answers.rowCount;
    const own = await client.query('select 1 from organizations where id = $1', [organizationId]);
    if (own.rowCount) counts.organizations = own.rowCount;
    return counts;
  });

function context(hook: PurgeHook): OrganizationsContext {
  return { ...app.platform, later: { purgeHooks: [hook] } as unknown as LaterModules } as OrganizationsContext;
}

test('with force nothing of the organization is left, its keys included, and no other loses a row', async () => {
  const [gone, other] = [await lived(), await lived()];
  // Waiting mails are sent meanwhile, with or without a purge.
  await expect.poll(async () => Object.keys(await rowsOf(other.id))).not.toContain('"outgoing_mails"');
  const before = await rowsOf(other.id);
  expect(Object.keys(await rowsOf(gone.id))).toEqual(
    expect.arrayContaining([
      '"audit_logs"',
      '"organization_keys"',
      '"memberships"',
      '"z_children"',
      'idempotency_keys',
    ]),
  );
  const answer = await remove(gone, true);
  expect(answer.body.data).toEqual({ id: gone.id, deleted: true, deletionType: 'permanent', recoveryDeadline: null });
  expect(await rowsOf(gone.id)).toEqual({});
  expect(await rowsOf(other.id)).toEqual(before);
  const after = await app.request('GET', current, call(gone));
  expect([after.status, after.body.error.code]).toEqual([404, 'ORGANIZATION_NOT_FOUND']);
  expect(app.logged()).toContain('an organization was purged and its keys destroyed');
});

test('a soft-deleted organization is purged at the deadline and not before, and a recovered one is not', async () => {
  const [gone, recovered] = [await lived(), await lived()];
  await remove(gone, false);
  await remove(recovered, false);
  await app.request('POST', `/api/v1/organizations/${recovered.id}/recover`, { token: recovered.owner.token });
  const hooked: string[] = [];
  const task = purgeTask(
    context(async (transaction, organizationId) => {
      const { rows } = await transaction.client.query('select id from organization_keys where organization_id = $1', [
        organizationId,
      ]);
      expect(rows).toHaveLength(1);
      hooked.push(organizationId);
    }),
  );
  const signal = new AbortController().signal;
  app.clock.advance(29 * 86_400_000);
  await task.run(signal);
  expect(Object.keys(await rowsOf(gone.id))).toContain('organizations');
  app.clock.advance(86_400_000);
  await task.run(signal);
  await task.run(signal);
  expect(await rowsOf(gone.id)).toEqual({});
  expect(Object.keys(await rowsOf(recovered.id))).toContain('organizations');
  expect(hooked).toEqual([gone.id]);
});

test('an organization that cannot be purged does not stop others, and the task is reported as failed', async () => {
  const organizations = [await lived(), await lived(), await lived()];
  for (const organization of organizations) await remove(organization, false);
  app.clock.advance(31 * 86_400_000);
  const [stuck, ...others] = organizations;
  const task = purgeTask(
    context(async (_transaction, organizationId) => {
      if (organizationId === stuck!.id) throw new Error('canceling statement due to statement timeout');
    }),
  );
  await expect(task.run(new AbortController().signal)).rejects.toThrow('statement timeout');
  expect(Object.keys(await rowsOf(stuck!.id))).toContain('"organization_keys"');
  for (const { id } of others) expect(await rowsOf(id)).toEqual({});
  expect(app.logged()).toContain('an organization could not be purged; tried again later');
  await purgeTask(context(async () => undefined)).run(new AbortController().signal);
  expect(await rowsOf(stuck!.id)).toEqual({});
});

test('an organization with countless rows is removed in portions, each within the statement timeout', async () => {
  const [gone, other] = [await lived(), await lived()];
  // Stands in for the statement timeout: PostgreSQL counts what one statement deletes.
  await asOwner(app.databaseUrl, (client) =>
    client.query(`
      insert into z_children select '${gone.id}c' || n, '${gone.id}', '${gone.id}p' from generate_series(1, 25000) n;
      create function too_long() returns trigger language plpgsql as $$ begin
        if (select count(*) from gone) > 10000 then
          raise exception 'canceling statement due to statement timeout' using errcode = '57014';
        end if; return null; end $$;
      create trigger too_long after delete on z_children referencing old table as gone
        for each statement execute function too_long();`),
  );
  const answer = await remove(gone, true);
  expect(answer.status, answer.text).toBe(200);
  expect(await rowsOf(gone.id)).toEqual({});
  expect((await rowsOf(other.id))['"z_children"']).toBe(1);
});

test('a purge whose hook fails removes nothing and is tried again', async () => {
  const organization = await lived();
  await remove(organization, false);
  app.clock.advance(31 * 86_400_000);
  const failing = purgeTask(
    context(async () => {
      throw new Error('no');
    }),
  );
  await expect(failing.run(new AbortController().signal)).rejects.toThrow('no');
  expect(Object.keys(await rowsOf(organization.id))).toContain('"organization_keys"');
});

test('a clock that jumps ahead after the run has begun purges nobody before the deadline', async () => {
  const organization = await lived();
  expect((await remove(organization, false)).status).toBe(200);
  const { worldMs } = app.clock;
  const clock = { worldMs, now: () => new Date(app.clock.now().getTime() + 5 * 365 * 86_400_000) };
  const run = purgeTask({ ...context(async () => undefined), clock }).run(new AbortController().signal);
  await expect(run).rejects.toThrow('ahead of that of the database');
  expect(await rowsOf(organization.id)).toMatchObject({ organizations: 1 });
});
