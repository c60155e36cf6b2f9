import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner } from '../../testing/people.ts';
import { foundOrganization, type TestOrganization } from '../../testing/team.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { type AuditEntry, AuditLog, systemActor } from './audit-log.ts';
import { oldestRows } from './audit-store.ts';
import { chainStart, hashRow } from './chain-hash.ts';

let app: TestApp;
let log: AuditLog;
beforeAll(async () => {
  app = await startTestApp({ DATABASE_POOL_SIZE: '12' });
  log = new AuditLog(app.platform.clock, app.platform.ids);
});
afterAll(() => app.close());

const entryFor = (organizationId: string, details: Record<string, unknown> = {}): AuditEntry => ({
  organizationId,
  action: 'project.updated',
  actor: systemActor,
  resource: { type: 'thing', id: 'thing_1' },
  origin: null,
  details,
});
const write = (organizationId: string, details?: Record<string, unknown>) =>
  app.platform.database.tenant(organizationId, (transaction) =>
    log.write(transaction, entryFor(organizationId, details)),
  );
const rowsOf = (organizationId: string) =>
  app.platform.database.tenant(organizationId, (transaction) => oldestRows(transaction, organizationId, 0, 10_000));
const verify = async ({ id, owner }: TestOrganization) =>
  (await app.request('GET', '/api/v1/audit-logs/verify', { token: owner.token, organizationId: id })).body.data;

test('200 concurrent transactions lose no row and keep the chain whole, also when half of them roll back', async () => {
  const organization = await foundOrganization(app);
  const before = (await rowsOf(organization.id)).length;
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, (_, index) =>
      app.platform.database.tenant(organization.id, async (transaction) => {
        await log.write(transaction, entryFor(organization.id, { index }));
        if (index % 2 === 1) throw new Error('rolled back');
      }),
    ),
  );
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(100);
  const rows = (await rowsOf(organization.id)).slice(before);
  const written = rows.map((row) => row.details.index as number).sort((a, b) => a - b);
  expect(written).toEqual(Array.from({ length: 100 }, (_, index) => index * 2));
  expect(await verify(organization)).toMatchObject({ valid: true, entries: before + 100, brokenAt: null });
});

test('each organization has a chain of its own that begins at zero', async () => {
  const [first, second] = [await foundOrganization(app), await foundOrganization(app)];
  await Promise.all(Array.from({ length: 20 }, (_, index) => write(index % 2 ? first.id : second.id)));
  for (const { id } of [first, second]) {
    const rows = await rowsOf(id);
    expect(rows[0]).toMatchObject({ position: 1, previousHash: chainStart });
    expect(rows.map((row) => row.position)).toEqual(rows.map((_, index) => index + 1));
    expect(rows.every((row) => row.hash === hashRow(row))).toBe(true);
  }
});

test('concurrent system transactions that write for many organizations do not deadlock', async () => {
  const organizations = await Promise.all(Array.from({ length: 5 }, () => foundOrganization(app)));
  const ids = organizations.map(({ id }) => id).sort();
  await Promise.all(
    Array.from({ length: 40 }, () =>
      app.platform.database.system(async (transaction) => {
        for (const id of ids) await log.write(transaction, entryFor(id));
      }),
    ),
  );
  for (const organization of organizations)
    expect(await verify(organization)).toMatchObject({ valid: true, entries: 41 });
});

test('with any details the row is written, and its hash is still right after it was stored and read', {
  tags: 'long',
}, async () => {
  const organization = await foundOrganization(app);
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ unit: 'binary' }), fc.anything({ withBigInt: true, withDate: true })),
      async (details) => {
        await write(organization.id, details as Record<string, unknown>);
      },
    ),
    { numRuns: 60 },
  );
  await write(organization.id, {
    nul: 'a\u0000b',
    lone: '\ud800',
    big: 2n ** 70n,
    tiny: 1e-7,
    huge: 1e21,
    zero: -0,
    when: new Date(0),
  });
  const last = (await rowsOf(organization.id)).at(-1);
  expect(last?.details).toEqual({
    nul: 'ab',
    lone: '\ufffd',
    big: '1180591620717411303424',
    tiny: 1e-7,
    huge: 1e21,
    zero: 0,
    when: '1970-01-01T00:00:00.000Z',
  });
  expect(await verify(organization)).toMatchObject({ valid: true });
});

test('details that are too large are left out and do not stop the change', async () => {
  const organization = await foundOrganization(app);
  await write(organization.id, { text: 'x'.repeat(100_000) });
  expect((await rowsOf(organization.id)).at(-1)?.details).toMatchObject({ truncated: true });
});

test('a tenant can neither change nor remove a row', async () => {
  const { id } = await foundOrganization(app);
  for (const statement of [
    "update audit_logs set action = 'x.y'",
    'delete from audit_logs',
    'truncate audit_logs',
    'delete from audit_checkpoints',
  ]) {
    const attempt = app.platform.database.tenant(id, ({ client }) => client.query(statement));
    await expect(attempt).rejects.toThrow(/permission denied/);
  }
  const { rows } = await asOwner(app.databaseUrl, (client) =>
    client.query('select count(*)::int as count from audit_logs where organization_id = $1', [id]),
  );
  expect(rows[0].count).toBe(1);
});
