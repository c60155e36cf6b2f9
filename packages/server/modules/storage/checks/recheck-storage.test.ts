// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner } from '../../../testing/people.ts';
import { foundOrganization, type TestOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

const path = '/api/v1/storage-destinations';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const as = ({ id, owner }: TestOrganization) => ({ token: owner.token, organizationId: id });

async function addFolder(organization: TestOrganization): Promise<{ id: string; lastCheckedAt: string }> {
  const body = { name: 'Folder', type: 'local', path: 'backups' };
  return (await app.request('POST', path, { ...as(organization), body })).body.data;
}

/** The same destination under other ids. */
function copy(id: string, change: object, count: number) {
  return asOwner(app.databaseUrl, (client) =>
    client.query(
      `insert into storage_destinations
       select (jsonb_populate_record(row, jsonb_build_object('id', row.id || n) || $2)).*
         from storage_destinations row, generate_series(1, $3) n where id = $1`,
      [id, change, count],
    ),
  );
}

test('a destination is looked at in time, however many another organization has that were forgotten for longer', async () => {
  const [many, single] = [await foundOrganization(app), await foundOrganization(app)];
  const [copied, own] = [await addFolder(many), await addFolder(single)];
  await copy(copied.id, { last_checked_at: null }, 120);
  app.clock.advance(11 * 60_000);
  await app.tasks.runNow('recheck storage');
  const lookedAt = async () => (await app.request('GET', `${path}/${own.id}`, as(single))).body.data.lastCheckedAt;
  await expect.poll(lookedAt).not.toBe(own.lastCheckedAt);
});

test('the service tells that a default destination does not work, however many others do not that are nobody’s default', async () => {
  const [many, single] = [await foundOrganization(app), await foundOrganization(app)];
  const [copied, own] = [await addFolder(many), await addFolder(single)];
  const told = async () => (await app.request('GET', '/health')).body.checks.storage;
  await copy(copied.id, { status: 'error' }, 1200);
  expect(await told()).toBe('ok');
  await asOwner(app.databaseUrl, (client) =>
    client.query(`update storage_destinations set status = 'error' where id = $1`, [own.id]),
  );
  expect(await told()).toBe('error');
});
