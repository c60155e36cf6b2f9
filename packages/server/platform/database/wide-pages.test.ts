import { type FirestoreSandbox, startFirestoreSandbox } from '@holdfast/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { headStore } from '../../modules/backups/head-store.ts';
import { retentionStore } from '../../modules/backups/index.ts';
import { journalStore } from '../../modules/restores/journal/journal-store.ts';
import { scheduleStore } from '../../modules/schedules/index.ts';
import { asOwner } from '../../testing/people.ts';
import { untilEnded } from '../../testing/protected-project.ts';
import { foundOrganization } from '../../testing/team.ts';
import { createOneOfEverything, createProjectWithBackup, resourcesOf } from '../../testing/tenant-resources.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
let firestore: FirestoreSandbox;
let as: { token: string; organizationId: string };
let projectId: string;
const recordsCount = 20;
const mebibyte = 1024 * 1024;

/** Makes this many copies of the only record, each with names of 600 KB. */
async function widen(table: 'schedules' | 'backups' | 'restores'): Promise<void> {
  const names = `(select jsonb_agg(n || repeat('c', 6000)) from generate_series(1, 100) n)`;
  await asOwner(app.databaseUrl, async (client) => {
    await client.query(
      `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object('id', t.id || n, 'collections', ${names}))).*
         from ${table} t, generate_series(1, $1::int - 1) n`,
      [recordsCount],
    );
    await client.query(`update ${table} set collections = ${names}`);
  });
}

beforeAll(async () => {
  app = await startTestApp();
  firestore = await startFirestoreSandbox();
  const organization = await foundOrganization(app);
  as = { token: organization.owner.token, organizationId: organization.id };
  await createOneOfEverything(app, organization);
  await createProjectWithBackup(app, organization, `${firestore.host}:${firestore.port}`);
  const { projectId: id = '', backupId } = await resourcesOf(app, organization);
  projectId = id;
  const restored = await app.request('POST', '/api/v1/backups/restore', { ...as, body: { backupId } });
  await untilEnded(app, restored.headers.get('location') ?? '', as);
  await asOwner(app.databaseUrl, (client) => client.query('delete from backups where id <> $1', [backupId]));
  await widen('restores');
  await widen('schedules');
  await widen('backups');
});
afterAll(async () => {
  await app.close();
  await firestore.stop();
});

describe('a page of large records', () => {
  test.each([
    ['schedules', ''],
    ['backups', ''],
    ['backups', '&from=2020-01-01'],
  ])('of %s ends where the next would not fit, and the cursor goes on there%s', async (list, filter) => {
    const seen: string[] = [];
    let cursor = '';
    let pages = 0;
    do {
      const answer = await app.request('GET', `/api/v1/${list}?limit=200${filter}${cursor}`, as);
      expect(answer.status, answer.text.slice(0, 300)).toBe(200);
      expect(answer.text.length).toBeLessThan(10 * mebibyte);
      const { data, pagination } = answer.body;
      for (const { id, collections } of data) {
        expect(collections).toHaveLength(100);
        seen.push(id);
      }
      expect(data.length).toBeGreaterThan(0);
      cursor = pagination.nextCursor === null ? '' : `&cursor=${encodeURIComponent(pagination.nextCursor)}`;
      pages++;
    } while (cursor !== '');
    expect(pages).toBeGreaterThan(2);
    expect(seen).toEqual([...new Set(seen)].sort().reverse());
    expect(seen).toHaveLength(recordsCount);
  });

  test('can hold one record that is larger than a page', { tags: 'long' }, async () => {
    const huge = `(select jsonb_agg(n || repeat('c', 6000)) from generate_series(1, 900) n)`;
    await asOwner(app.databaseUrl, (client) => client.query(`update schedules set collections = ${huge}`));
    const { body } = await app.request('GET', '/api/v1/schedules', as);
    expect(body.data).toHaveLength(1);
    expect(body.pagination.hasMore).toBe(true);
  });
});

test('queries over all records of a project or organization read none of their names', async () => {
  const { organizationId: id } = as;
  const found = await app.platform.database.tenant(id, async (transaction) => [
    await retentionStore.candidates(transaction, id, projectId, { lock: true }),
    await headStore.lockAll(transaction, id, projectId),
    await scheduleStore.ofProject(transaction, id, projectId),
    await journalStore.envelopes(transaction, id),
  ]);
  for (const records of found) {
    expect(records).toHaveLength(recordsCount);
    expect(JSON.stringify(records).length).toBeLessThan(mebibyte / 10);
  }
});

test('names of collections have a common limit', async () => {
  const create = (fields: object) =>
    app.request('POST', '/api/v1/schedules', {
      ...as,
      body: { projectId, name: 'Wide', cron: '0 2 * * *', enabled: false, ...fields },
    });
  const names = (count: number) => Array.from({ length: count }, (_, index) => `${index}${'c'.repeat(1000)}`);
  for (const field of ['collections', 'excludeCollections']) {
    const refused = await create({ [field]: names(70) });
    expect(refused.body.error?.details, field).toEqual({
      field,
      reason: 'must have at most 65,536 characters together',
    });
    expect((await create({ [field]: names(60) })).status, field).toBe(201);
  }
});
