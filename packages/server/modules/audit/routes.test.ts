import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCsv } from '../../testing/read-csv.ts';
import { foundOrganization, type TestOrganization } from '../../testing/team.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { type AuditEntry, AuditLog } from './audit-log.ts';

let app: TestApp;
let log: AuditLog;
let organization: TestOrganization;
const nasty = {
  userAgent: '=cmd|"/c calc"!A1',
  details: { formula: '=1+1', text: 'quote " comma , line\r\nend' },
};
beforeAll(async () => {
  app = await startTestApp();
  log = new AuditLog(app.platform.clock, app.platform.ids);
  organization = await foundOrganization(app);
  await writeMany(12);
});
afterAll(() => app.close());

async function writeMany(count: number): Promise<void> {
  await app.platform.database.tenant(organization.id, async (transaction) => {
    for (let index = 0; index < count; index++) await log.write(transaction, entry(index));
  });
}

function entry(index: number): AuditEntry {
  return {
    organizationId: organization.id,
    action: index % 3 === 0 ? 'backup.created' : 'webhook.updated',
    actor: { type: 'user', id: index % 2 ? 'usr_odd' : 'usr_even', email: 'someone@example.com' },
    resource: {
      type: index % 3 === 0 ? 'backup' : 'webhook',
      id: ['@import', '-1', '+1', '\tx', 'plain'][index % 5] ?? '',
    },
    origin: { requestId: `req_${index}`, ip: '203.0.113.9', userAgent: nasty.userAgent },
    details: nasty.details,
  };
}

const get = (path: string, as = organization) =>
  app.request('GET', `/api/v1/audit-logs${path}`, { token: as.owner.token, organizationId: as.id });
const ids = (answer: { body: { data: { id: string }[] } }) => answer.body.data.map(({ id }) => id);

test('lists newest first, whole, in pages of any size, while others write', async () => {
  const all = await get('');
  expect(all.body.data.length).toBe(13);
  expect(all.body.data.at(-1).action).toBe('organization.created');
  expect(all.body.data[0]).toMatchObject({
    action: 'webhook.updated',
    actor: { type: 'user', id: 'usr_odd', email: 'someone@example.com' },
    organization: { id: organization.id },
    context: { ip: '203.0.113.9', userAgent: nasty.userAgent, location: null },
    requestId: 'req_11',
    details: nasty.details,
  });
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await get(`?limit=4${cursor}`);
    seen.push(...ids(page));
    if (seen.length === 4) await writeMany(3);
    if (!page.body.pagination.hasMore) break;
    cursor = `&cursor=${page.body.pagination.nextCursor}`;
  }
  expect(seen).toEqual(ids(all));
});

test('filters by action, actor, resource and time, alone and together', async () => {
  const where = async (query: string) => (await get(`?limit=200&${query}`)).body.data;
  const all = await where('');
  const wanted = all.filter((row: { action: string }) => row.action === 'backup.created');
  expect(await where('action=backup.created')).toEqual(wanted);
  expect(await where('resourceType=backup')).toEqual(wanted);
  expect(await where('action=backup.created&actorId=usr_odd')).toEqual(
    wanted.filter((row: { actor: { id: string } }) => row.actor.id === 'usr_odd'),
  );
  expect((await where('resourceId=plain')).length).toBeGreaterThan(0);
  expect(await where('resourceId=nothing')).toEqual([]);
  expect(await where('action=no.such')).toEqual([]);
  const today = app.clock.now().toISOString().slice(0, 10);
  expect((await where(`from=${today}&to=${today}`)).length).toBe(all.length);
  expect(await where('to=2020-01-01')).toEqual([]);
  const [, second] = all;
  const later = await where(`from=${encodeURIComponent(second.timestamp)}`);
  expect(later.every((row: { timestamp: string }) => row.timestamp >= second.timestamp)).toBe(true);
  expect(await where(`to=${encodeURIComponent(all.at(-1).timestamp)}`)).toEqual([]);
});

test('a cursor is valid only for its list, its filters and its organization', async () => {
  const { nextCursor } = (await get('?limit=2&action=webhook.updated')).body.pagination;
  expect((await get(`?limit=2&action=webhook.updated&cursor=${nextCursor}`)).status).toBe(200);
  const other = await foundOrganization(app);
  for (const answer of [
    await get(`?limit=2&cursor=${nextCursor}`),
    await get(`?limit=2&action=backup.created&cursor=${nextCursor}`),
    await get(`?limit=2&action=webhook.updated&cursor=${nextCursor[0] === 'x' ? 'y' : 'x'}${nextCursor.slice(1)}`),
    await get(`?limit=2&action=webhook.updated&cursor=${nextCursor}`, other),
    await get('?cursor=AAAA'),
  ])
    expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { field: 'cursor' } });
});

test.each(['from=yesterday', 'to=2026-13-01', 'limit=0', 'limit=-1', 'limit=x', 'from=0001-01-01'])(
  'refuses ?%s',
  async (query) => {
    expect((await get(`?${query}`)).body.error).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { field: query.split('=')[0] },
    });
  },
);

test('exports ndjson and json with exactly the entries of the list', async () => {
  const listed = (await get('?limit=200')).body.data;
  const ndjson = await get('/export?format=ndjson');
  expect(ndjson.headers.get('content-type')).toContain('application/x-ndjson');
  expect(ndjson.headers.get('content-disposition')).toMatch(
    /^attachment; filename="audit-log-org_\w+-[\d-]+\.ndjson"$/,
  );
  expect(
    ndjson.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(listed);
  const json = await get('/export?format=json&action=backup.created');
  expect(json.body).toEqual(listed.filter((row: { action: string }) => row.action === 'backup.created'));
  expect((await get('/export?format=json&action=no.such')).body).toEqual([]);
  expect((await get('/export?format=xml')).body.error.code).toBe('VALIDATION_ERROR');
});

test('exports csv by RFC 4180 in which a spreadsheet runs no cell', async () => {
  const csv = await get('/export');
  expect(csv.headers.get('content-type')).toContain('text/csv');
  const [head, ...rows] = readCsv(csv.text);
  expect(head?.slice(0, 4)).toEqual(['id', 'timestamp', 'action', 'actorType']);
  const listed = (await get('?limit=200')).body.data;
  expect(rows.length).toBe(listed.length);
  for (const [index, row] of rows.entries()) {
    for (const cell of row) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
    const column = (name: string) => row[head?.indexOf(name) ?? -1];
    expect(column('id')).toBe(listed[index].id);
    expect(JSON.parse(column('details') ?? '')).toEqual(listed[index].details);
    if (listed[index].context.userAgent === nasty.userAgent) expect(column('userAgent')).toBe(`'${nasty.userAgent}`);
  }
});

test('exports many rows piece by piece, with a filter, in the order of the list', { tags: 'long' }, async () => {
  const big = await foundOrganization(app);
  await app.platform.database.tenant(big.id, async (transaction) => {
    for (let index = 0; index < 2600; index++)
      await log.write(transaction, { ...entry(index), organizationId: big.id });
  });
  const text = (await get('/export?format=ndjson', big)).text;
  const requestIds = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).requestId);
  expect(requestIds.slice(0, -1)).toEqual(Array.from({ length: 2600 }, (_, index) => `req_${2599 - index}`));
});

test('an export whose reader hangs up ends quietly, and the service goes on', async () => {
  const controller = new AbortController();
  const response = await fetch(new URL('/api/v1/audit-logs/export?format=ndjson', app.address), {
    headers: { authorization: `Bearer ${organization.owner.token}`, 'x-organization-id': organization.id },
    signal: controller.signal,
  });
  expect(response.status).toBe(200);
  controller.abort();
  await expect(response.text()).rejects.toThrow();
  expect((await get('?limit=1')).status).toBe(200);
  expect(app.logged()).not.toContain('"level":50');
});
