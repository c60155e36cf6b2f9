import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner, foundOrganization, signUp } from '../../testing/people.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let as: { token: string; organizationId: string };
beforeAll(async () => {
  app = await startTestApp();
  const owner = await signUp(app, 'owner@example.com');
  as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
  // Ids and times in opposite order, as imports of old backups have them; every time stands twice.
  await asOwner(app.databaseUrl, (client) =>
    client.query(
      `insert into backups (id, organization_id, project_id, type, status, trigger, collections, exclude_collections,
         include_subcollections, include_auth_users, storage_destination_id, phase, created_at, updated_at)
       select 'bkp_' || n, $1, 'prj_1', 'full', 'completed', 'manual', '["*"]', '[]', true, false, 'dst_1', 'Completed',
         '2026-01-01T00:00:00Z'::timestamptz - (n / 2) * interval '1 day', now() from generate_series(10, 29) n`,
      [as.organizationId],
    ),
  );
});
afterAll(() => app.close());

/** All pages behind one another, two rows each. */
async function pages(path: string): Promise<Record<string, string>[]> {
  const found: Record<string, string>[] = [];
  let cursor = '';
  do {
    const { body } = await app.request('GET', `/api/v1${path}&limit=2${cursor}`, as);
    found.push(...body.data);
    cursor = body.pagination.nextCursor ? `&cursor=${body.pagination.nextCursor}` : '';
  } while (cursor !== '');
  return found;
}

test('pages of backups between two times are ordered by time, and show every row once', async () => {
  const from = '2025-12-20T00:00:00Z';
  const to = '2025-12-26T00:00:00Z';
  const shown = await pages(`/backups?from=${from}&to=${to}`);
  expect(shown.map(({ id }) => id)).toEqual([15, 14, 17, 16, 19, 18, 21, 20, 23, 22, 25, 24].map((n) => `bkp_${n}`));
  const times = shown.map(({ createdAt }) => createdAt as string);
  expect(times).toEqual(times.toSorted().reverse());
  const all = (await pages('/backups?projectId=prj_1')).map(({ id }) => id);
  expect(all).toEqual(Array.from({ length: 20 }, (_, index) => `bkp_${29 - index}`));
});

test('pages of the audit log between two times show every row once', async () => {
  for (let n = 0; n < 5; n++) {
    app.clock.advance(1000);
    await app.request('PUT', '/api/v1/organizations/current', { ...as, body: { name: `Name ${n}` } });
  }
  const all = await pages('/audit-logs?action=organization.updated');
  expect(all).toHaveLength(5);
  expect(await pages(`/audit-logs?action=organization.updated&from=${all.at(-1)!.timestamp}`)).toEqual(all);
  expect(await pages(`/audit-logs?action=organization.updated&to=${all[1]!.timestamp}`)).toEqual(all.slice(2));
});
