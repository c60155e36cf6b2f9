import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { foundOrganization, signUp } from '../../testing/people.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let owner: pg.Client;
beforeAll(async () => {
  app = await startTestApp();
  owner = new pg.Client(app.databaseUrl);
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await app.close();
});

test('an audit log that cannot be cut does not stop the retention of others, and the run counts as failed', async () => {
  const person = await signUp(app, 'owner@example.com');
  const [stuck, other] = [await foundOrganization(app, person), await foundOrganization(app, person)].sort();
  for (const organizationId of [stuck, other] as string[]) {
    const as = { token: person.token, organizationId, body: { name: 'CI' } };
    expect((await app.request('POST', '/api/v1/organizations/current/service-account', as)).status).toBe(201);
  }
  await owner.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`);
  await owner.query(
    `create trigger refused before delete on audit_logs for each row
       when (old.organization_id = '${stuck}') execute function refuse()`,
  );
  const oldRows = async () => {
    const counted = 'select count(*)::int as n from audit_logs where organization_id = $1 and timestamp < now()';
    return (await owner.query(counted, [other])).rows[0].n;
  };
  expect(await oldRows()).toBeGreaterThan(0);
  app.clock.advance(400 * 86_400_000);
  await expect(app.tasks.runNow('audit retention')).rejects.toThrow();
  expect(await oldRows()).toBe(0);
});
