import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { asOwner } from '../../testing/people.ts';
import { freshToken } from '../../testing/sessions.ts';
import { foundOrganization, type TestOrganization } from '../../testing/team.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { AuditLog, systemActor } from './audit-log.ts';
import { oldestRows } from './audit-store.ts';
import { hashRow } from './chain-hash.ts';
import { CheckpointSignatures } from './checkpoint-signature.ts';
import { AuditRetention } from './retention.ts';

const day = 86_400_000;
let app: TestApp;
let log: AuditLog;
let organization: TestOrganization;
beforeAll(async () => {
  app = await startTestApp();
  log = new AuditLog(app.platform.clock, app.platform.ids);
});
afterAll(() => app.close());
beforeEach(async () => {
  organization = await foundOrganization(app);
  await write(9);
});

async function write(count: number): Promise<void> {
  const { id: organizationId } = organization;
  for (let index = 0; index < count; index++) {
    await app.platform.database.tenant(organizationId, (transaction) =>
      log.write(transaction, {
        organizationId,
        action: 'project.updated',
        actor: systemActor,
        resource: { type: 'thing', id: `thing_${index}` },
        origin: null,
        details: { index },
      }),
    );
  }
}

/** Changes the database directly, as somebody with its password could. */
async function tamper(statement: string, ...values: unknown[]): Promise<void> {
  await asOwner(app.databaseUrl, (client) => client.query(statement, [organization.id, ...values]));
}

async function idAt(position: number): Promise<string> {
  const { rows } = await asOwner(app.databaseUrl, (client) =>
    client.query('select id from audit_logs where organization_id = $1 and position = $2', [organization.id, position]),
  );
  return rows[0].id;
}

const verify = async () =>
  (
    await app.request('GET', '/api/v1/audit-logs/verify', {
      token: await freshToken(app, organization.owner.token),
      organizationId: organization.id,
    })
  ).body.data;

test('an untouched log is whole, and the answer says how many rows it has', async () => {
  const verification = await verify();
  expect(verification).toMatchObject({ valid: true, entries: 10, brokenAt: null });
  expect(Date.parse(verification.from)).toBeLessThanOrEqual(Date.parse(verification.to));
});

test.each([
  ['action', "action = 'thing.removed'"],
  ['actor', "actor_email = 'someone@example.com'"],
  ['actor id', "actor_id = 'usr_x'"],
  ['time', "timestamp = timestamp + interval '1 ms'"],
  ['resource', "resource_id = 'other'"],
  ['details', `details = '{"index": 40}'`],
  ['a detail added', `details = details || '{"more": null}'`],
  ['address', "ip = '10.0.0.1'"],
  ['request id', "request_id = 'req_x'"],
  ['id', "id = 'aud_changed'"],
  ['hash', "hash = repeat('a', 64)"],
])('a changed %s is found where it is', async (_what, change) => {
  await tamper(`update audit_logs set ${change} where organization_id = $1 and position = 5`);
  expect(await verify()).toMatchObject({ valid: false, entries: 4, brokenAt: await idAt(5) });
});

/** Recomputes the hashes, as an attacker with the documentation could: of one row, or of all rows from there on. */
async function rehash(from: number, options: { whole: boolean }): Promise<void> {
  const rows = await app.platform.database.tenant(organization.id, (transaction) =>
    oldestRows(transaction, organization.id, from - 1, options.whole ? 100 : 1),
  );
  let previousHash = rows[0]?.previousHash ?? '';
  for (const row of rows) {
    const hash = hashRow({ ...row, previousHash });
    await tamper(
      'update audit_logs set previous_hash = $3, hash = $4 where organization_id = $1 and position = $2',
      row.position,
      previousHash,
      hash,
    );
    previousHash = hash;
  }
  if (options.whole) await tamper('update audit_chains set hash = $2 where organization_id = $1', previousHash);
}

test('a changed row with a recomputed hash is found at the next row', async () => {
  await tamper("update audit_logs set resource_id = 'other' where organization_id = $1 and position = 5");
  await rehash(5, { whole: false });
  expect(await verify()).toMatchObject({ valid: false, entries: 5, brokenAt: await idAt(6) });
});

test('a changed last row with a recomputed hash is found at that row', async () => {
  await tamper("update audit_logs set resource_id = 'other' where organization_id = $1 and position = 10");
  await rehash(10, { whole: false });
  expect(await verify()).toMatchObject({ valid: false, brokenAt: await idAt(10) });
});

test('a removed row is found even if every later hash was recomputed', async () => {
  const { rows } = await asOwner(app.databaseUrl, (client) =>
    client.query('select previous_hash from audit_logs where organization_id = $1 and position = 5', [organization.id]),
  );
  await tamper('delete from audit_logs where organization_id = $1 and position = 5');
  await tamper(
    'update audit_logs set previous_hash = $2 where organization_id = $1 and position = 6',
    rows[0].previous_hash,
  );
  await rehash(6, { whole: true });
  expect(await verify()).toMatchObject({ valid: false, entries: 4, brokenAt: await idAt(6) });
});

test('a removed row is found at the one after the gap', async () => {
  await tamper('delete from audit_logs where organization_id = $1 and position = 5');
  expect(await verify()).toMatchObject({ valid: false, brokenAt: await idAt(6) });
});

test('a removed row whose gap was closed by moving the others is found too', async () => {
  await tamper('delete from audit_logs where organization_id = $1 and position = 5');
  for (let position = 6; position <= 10; position++)
    await tamper(
      'update audit_logs set position = position - 1 where organization_id = $1 and position = $2',
      position,
    );
  await tamper('update audit_chains set position = 9 where organization_id = $1');
  expect(await verify()).toMatchObject({ valid: false, brokenAt: await idAt(5) });
});

test('rows missing at the beginning are found', async () => {
  await tamper('delete from audit_logs where organization_id = $1 and position <= 3');
  expect(await verify()).toMatchObject({ valid: false, entries: 0, brokenAt: await idAt(4) });
});

test('rows missing at the end are found', async () => {
  await tamper('delete from audit_logs where organization_id = $1 and position >= 9');
  expect(await verify()).toMatchObject({ valid: false, entries: 8, brokenAt: await idAt(8) });
});

test('an emptied log is found', async () => {
  await tamper('delete from audit_logs where organization_id = $1');
  expect(await verify()).toMatchObject({ valid: false, entries: 0, brokenAt: null });
});

const copyOf = (position: number, to: number) => `insert into audit_logs
  select 'aud_inserted', organization_id, ${to}, timestamp, action, actor_type, actor_id, actor_email, resource_type,
         resource_id, ip, user_agent, location, request_id, details, previous_hash, hash
    from audit_logs where organization_id = $1 and position = ${position}`;

test('an inserted row is found, in the middle, after the end and before the beginning', async () => {
  await tamper('update audit_logs set position = position + 100 where organization_id = $1 and position > 5');
  await tamper('update audit_logs set position = position - 99 where organization_id = $1 and position > 100');
  await tamper(copyOf(5, 6));
  expect(await verify()).toMatchObject({ valid: false, brokenAt: 'aud_inserted' });
  for (const place of [11, 0, -3]) {
    await tamper("delete from audit_logs where id = 'aud_inserted' and organization_id = $1");
    organization = await foundOrganization(app);
    await write(9);
    await tamper(copyOf(5, place));
    expect(await verify()).toMatchObject({ valid: false, brokenAt: 'aud_inserted' });
  }
});

test('rows that changed places are found', async () => {
  for (const [from, to] of [
    [4, 1000],
    [5, 4],
    [1000, 5],
  ])
    await tamper('update audit_logs set position = $3 where organization_id = $1 and position = $2', from, to);
  expect(await verify()).toMatchObject({ valid: false, brokenAt: await idAt(4) });
});

test('a row of another organization does not fit', async () => {
  const other = await foundOrganization(app);
  await tamper('delete from audit_logs where organization_id = $1 and position = 1');
  await tamper(
    "update audit_logs set organization_id = $1, resource_type = 'organization' where organization_id = $2 and position = 1",
    other.id,
  );
  expect(await verify()).toMatchObject({ valid: false, brokenAt: await idAt(1) });
});

function retention(given: { daysOverride?: number; rowsPerCut?: number } = {}): AuditRetention {
  const { database, clock } = app.platform;
  return new AuditRetention({
    database,
    clock,
    log,
    signatures: new CheckpointSignatures(app.platform),
    daysOverride: undefined,
    planOf: async () => 'starter',
    ...given,
  });
}
const trim = (given?: Parameters<typeof retention>[0]) =>
  retention(given).trim(organization.id, new AbortController().signal);

test('retention by plan removes old rows, says so, and the rest can still be verified', async () => {
  app.clock.advance(29 * day);
  expect(await trim()).toBe(0);
  await write(4);
  app.clock.advance(2 * day);
  expect(await trim()).toBe(10);
  expect(await verify()).toMatchObject({ valid: true, entries: 5, brokenAt: null });
  app.clock.advance(29 * day);
  expect(await trim()).toBe(4);
  app.clock.advance(31 * day);
  await write(2);
  expect(await trim()).toBe(2);
  expect(await verify()).toMatchObject({ valid: true, entries: 3 });
});

test('all rows may be too old, and the next one still continues the chain', async () => {
  app.clock.advance(100 * day);
  expect(await trim({ daysOverride: 90 })).toBe(10);
  await tamper("delete from audit_logs where organization_id = $1 and action = 'nothing.matches'");
  expect(await verify()).toMatchObject({ valid: true, entries: 1 });
  await write(1);
  expect(await verify()).toMatchObject({ valid: true, entries: 2 });
});

test('the days that an operator sets apply to every plan', async () => {
  app.clock.advance(3 * day);
  expect(await trim({ daysOverride: 5 })).toBe(0);
  expect(await trim({ daysOverride: 2 })).toBe(10);
});

test('more rows than one cut removes take several cuts, and the checkpoint stays right', async () => {
  const { id } = organization;
  await app.platform.database.tenant(id, async (transaction) => {
    for (let index = 0; index < 1200; index++)
      await log.write(transaction, {
        organizationId: id,
        action: 'project.updated',
        actor: systemActor,
        resource: { type: 'thing', id: null },
        origin: null,
      });
  });
  expect(await verify()).toMatchObject({ valid: true, entries: 1210 });
  app.clock.advance(31 * day);
  expect(await trim({ rowsPerCut: 500 })).toBe(1210);
  expect(await verify()).toMatchObject({ valid: true, entries: 1 });
});

test('a forged, moved or missing cut is found', async () => {
  app.clock.advance(29 * day);
  await write(5);
  app.clock.advance(2 * day);
  await trim();
  expect(await verify()).toMatchObject({ valid: true });
  const first = await idAt(11);
  await tamper('update audit_checkpoints set removed_rows = removed_rows + 1 where organization_id = $1');
  expect(await verify()).toMatchObject({ valid: false, brokenAt: first });
  await tamper('update audit_checkpoints set removed_rows = removed_rows - 1 where organization_id = $1');
  expect(await verify()).toMatchObject({ valid: true });
  await tamper('delete from audit_logs where organization_id = $1 and position = 11');
  await tamper(
    `update audit_checkpoints set position = 11, removed_rows = 11, hash = (select previous_hash from audit_logs where organization_id = $1 and position = 12) where organization_id = $1`,
  );
  expect(await verify()).toMatchObject({ valid: false, brokenAt: await idAt(12) });
  await tamper('delete from audit_checkpoints where organization_id = $1');
  expect(await verify()).toMatchObject({ valid: false, brokenAt: await idAt(12) });
});

test('verifying while rows are written and others are cut gives no false alarm', async () => {
  app.clock.advance(40 * day);
  const signal = new AbortController().signal;
  const [verifications] = await Promise.all([
    Promise.all(Array.from({ length: 20 }, verify)),
    write(60),
    retention().trim(organization.id, signal),
  ]);
  expect(verifications.filter(({ valid }) => !valid)).toEqual([]);
});

test('only admins and owners may verify', async () => {
  const stranger = await foundOrganization(app);
  const options = { token: stranger.owner.token, organizationId: organization.id };
  for (const path of ['', '/verify', '/export'])
    expect((await app.request('GET', `/api/v1/audit-logs${path}`, options)).status).toBe(403);
});
