import { defaultScopes } from '@holdfast/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asOwner } from '../../../testing/people.ts';
import { foundOrganization, type TestOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

const path = '/api/v1/organizations/current/service-account';
const current = '/api/v1/organizations/current';

let app: TestApp;
let organization: TestOrganization;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const asTheOwner = () => ({ token: organization.owner.token, organizationId: organization.id });
async function make(body: object = { name: 'Nightly CI' }, headers: Record<string, string> = {}) {
  organization = await foundOrganization(app);
  return app.request('POST', path, { ...asTheOwner(), body, headers });
}

test('the key is shown once, works, and is nowhere in the database', async () => {
  const created = await make();
  expect(created.status).toBe(201);
  const { apiKey, permissions } = created.body.data;
  expect(apiKey).toMatch(/^fb_sa_[0-9A-Za-z]{33}$/);
  expect(permissions).toEqual(defaultScopes);
  const shown = await app.request('GET', path, asTheOwner());
  expect(shown.body.data).toMatchObject({ name: 'Nightly CI', lastUsedAt: null });
  expect(shown.body.data.email).toBe(`nightly-ci@${organization.slug}.holdfast.invalid`);
  expect(shown.text).not.toContain(apiKey);
  expect((await app.request('GET', current, { token: apiKey })).status).toBe(200);
  const kept = await asOwner(app.databaseUrl, (client) => client.query('select * from service_accounts'));
  const audited = await asOwner(app.databaseUrl, (client) => client.query('select * from audit_logs'));
  expect(JSON.stringify([kept.rows, audited.rows]) + app.logged()).not.toContain(apiKey);
});

test('a replayed creation does not show the key', async () => {
  const headers = { 'idempotency-key': 'once' };
  const first = await make({ name: 'x' }, headers);
  const again = await app.request('POST', path, { ...asTheOwner(), body: { name: 'x' }, headers });
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(again.body.data).toEqual({ ...first.body.data, apiKey: null });
});

test('an organization has at most one, also with concurrent creations', async () => {
  organization = await foundOrganization(app);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => app.request('POST', path, { ...asTheOwner(), body: { name: 'x' } })),
  );
  expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(7).fill(409)]);
  expect(answers.find((answer) => answer.status === 409)?.body.error.code).toBe('SERVICE_ACCOUNT_EXISTS');
});

test('after a rotation the old key works for the grace period and not longer', async () => {
  const { apiKey: first } = (await make()).body.data;
  const rotated = await app.request('POST', `${path}/rotate`, { ...asTheOwner(), body: { graceSeconds: 60 } });
  const { apiKey: second, previousKeyValidUntil } = rotated.body.data;
  expect(Date.parse(previousKeyValidUntil)).toBeGreaterThan(app.clock.now().getTime() + 50_000);
  const works = async (token: string) => (await app.request('GET', current, { token })).status;
  expect([await works(first), await works(second)]).toEqual([200, 200]);
  app.clock.advance(61_000);
  expect([await works(first), await works(second)]).toEqual([401, 200]);
  await app.request('POST', `${path}/rotate`, { ...asTheOwner(), body: { graceSeconds: 0 } });
  expect(await works(second)).toBe(401);
});

test('without a body the grace period is a day', async () => {
  await make();
  const { previousKeyValidUntil } = (await app.request('POST', `${path}/rotate`, asTheOwner())).body.data;
  expect((Date.parse(previousKeyValidUntil) - app.clock.now().getTime()) / 86_400_000).toBeCloseTo(1, 2);
});

test('a deleted account stops working at once', async () => {
  const { apiKey } = (await make()).body.data;
  const etag = (await app.request('GET', path, asTheOwner())).headers.get('etag') as string;
  const stale = await app.request('DELETE', path, { ...asTheOwner(), headers: { 'if-match': '"other"' } });
  expect(stale.status).toBe(412);
  expect((await app.request('DELETE', path, { ...asTheOwner(), headers: { 'if-match': etag } })).status).toBe(200);
  expect((await app.request('GET', current, { token: apiKey })).status).toBe(401);
  expect((await app.request('GET', path, asTheOwner())).body.error.code).toBe('SERVICE_ACCOUNT_NOT_FOUND');
});

test('lastUsedAt is written at most once a minute', async () => {
  const { apiKey } = (await make()).body.data;
  const usedAt = async () => (await app.request('GET', path, asTheOwner())).body.data.lastUsedAt as string | null;
  await app.request('GET', current, { token: apiKey });
  await expect.poll(usedAt).not.toBeNull();
  const first = await usedAt();
  app.clock.advance(30_000);
  await app.request('GET', current, { token: apiKey });
  expect(await usedAt()).toBe(first);
  app.clock.advance(31_000);
  await app.request('GET', current, { token: apiKey });
  await expect.poll(usedAt).not.toBe(first);
});

test('a key may neither manage the team nor leave its organization', async () => {
  const { apiKey } = (await make({ name: 'all', permissions: ['organization:write'] })).body.data;
  const other = await foundOrganization(app);
  const foreign = await app.request('GET', current, { token: apiKey, organizationId: other.id });
  expect([foreign.status, foreign.body.error.code]).toEqual([403, 'FORBIDDEN']);
  const team = await app.request('GET', `${current}/invites`, { token: apiKey });
  expect([team.status, team.body.error.code]).toEqual([403, 'FORBIDDEN']);
  const renamed = await app.request('PUT', current, { token: apiKey, body: { name: 'By key' } });
  expect(renamed.body.data.name).toBe('By key');
});
