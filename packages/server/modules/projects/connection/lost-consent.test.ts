import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner, foundOrganization, join, signUp, type TestPerson } from '../../../testing/people.ts';
import { type ProtectedProject, protectProject } from '../../../testing/protected-project.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

let app: TestApp;
let shop: ProtectedProject;
let as: { token: string; organizationId: string };
let helper: TestPerson;

beforeAll(async () => {
  app = await startTestApp();
  shop = await protectProject(app);
  as = { token: shop.owner.token, organizationId: shop.organizationId };
  helper = await signUp(app, 'helper@example.com');
  await join(app, shop.organizationId, helper, 'admin');
});
afterAll(async () => {
  await app.close();
  await shop.close();
});

const change = (statement: string, values: unknown[] = []) =>
  asOwner(app.databaseUrl, (client) => client.query(statement, values));

async function liveFromConsentOf(person: TestPerson): Promise<void> {
  await change(
    `update projects set connection_type = 'oauth', connection_status = 'connected', connection_error = null,
       connection_user_id = $1, connection_email = $2`,
    [person.id, person.email],
  );
}

async function connection(organizationId: string, token: string) {
  const answer = await app.request('GET', `/api/v1/projects/${shop.projectId}`, { token, organizationId });
  const { rows } = await change('select connection_user_id, reconnect_user_id from projects');
  return { ...answer.body.data.connection, kept: rows };
}

const lost = { status: 'unauthorized', kept: [{ connection_user_id: null, reconnect_user_id: null }] };

test('a consent ends with the membership of its owner, and the project says whom to ask', async () => {
  await liveFromConsentOf(helper);
  const path = `/api/v1/organizations/current/members/${helper.id}`;
  expect((await app.request('DELETE', path, as)).status).toBe(200);
  const left = await connection(shop.organizationId, shop.owner.token);
  expect(left).toMatchObject({ ...lost, error: { code: 'SOURCE_AUTH_ERROR' } });
  expect(left.error.message).toContain('helper@example.com');
});

test('a move is decided under the locks of both organizations: a person demoted meanwhile does not move it', async () => {
  const other = await signUp(app, 'other@example.com');
  const there = await foundOrganization(app, other);
  await join(app, there, shop.owner, 'admin');
  const moved = await asOwner(app.databaseUrl, async (client) => {
    await client.query('begin');
    await client.query('select from organizations where id = $1 for update', [there]);
    await client.query(`update memberships set role = 'viewer' where organization_id = $1 and user_id = $2`, [
      there,
      shop.owner.id,
    ]);
    const asked = move(there);
    await untilSomebodyWaits();
    await client.query('commit');
    return asked;
  });
  expect(moved.body.error?.code).toBe('PERMISSION_DENIED');
});

test('a consent does not move with a project', async () => {
  await liveFromConsentOf(shop.owner);
  const there = await foundOrganization(app, shop.owner);
  expect((await move(there)).status).toBe(200);
  expect(await connection(there, shop.owner.token)).toMatchObject(lost);
});

const move = (organizationId: string) =>
  app.request('PATCH', `/api/v1/projects/${shop.projectId}`, { ...as, body: { organizationId } });

async function untilSomebodyWaits(): Promise<void> {
  const question = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await change(question)).rowCount).toBeGreaterThan(0);
}
