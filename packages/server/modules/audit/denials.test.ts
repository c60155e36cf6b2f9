import { afterAll, beforeAll, expect, test } from 'vitest';
import { signUp } from '../../testing/people.ts';
import { addMember, foundOrganization, type TestOrganization } from '../../testing/team.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const denialsIn = async ({ id, owner }: TestOrganization) =>
  (
    await app.request('GET', '/api/v1/audit-logs?action=auth.denied&limit=200', {
      token: owner.token,
      organizationId: id,
    })
  ).body.data;

test('a call refused for a low role is logged with who, what and why', async () => {
  const organization = await foundOrganization(app);
  const viewer = await addMember(app, organization.id, 'viewer');
  const answer = await app.request('GET', '/api/v1/audit-logs', {
    token: viewer.token,
    organizationId: organization.id,
  });
  expect(answer.body.error.code).toBe('PERMISSION_DENIED');
  expect(await denialsIn(organization)).toMatchObject([
    {
      actor: { type: 'user', id: viewer.id, email: viewer.email },
      resource: { type: 'operation', id: 'listAuditLogs' },
      requestId: answer.headers.get('x-request-id'),
      details: { code: 'PERMISSION_DENIED', requiredRole: 'admin', currentRole: 'viewer' },
    },
  ]);
});

test('a key without the scope, or used for another organization, is logged only in its own organization', async () => {
  const [own, foreign] = [await foundOrganization(app), await foundOrganization(app)];
  const made = await app.request('POST', '/api/v1/organizations/current/service-account', {
    token: own.owner.token,
    organizationId: own.id,
    body: { name: 'robot', permissions: ['backups:read'] },
  });
  const token = made.body.data.apiKey;
  expect((await app.request('GET', '/api/v1/audit-logs', { token })).status).toBe(403);
  expect((await app.request('GET', '/api/v1/audit-logs', { token, organizationId: foreign.id })).status).toBe(403);
  expect((await app.request('GET', '/api/v1/auth/me', { token })).status).toBe(403);
  const denials = await denialsIn(own);
  expect(denials.map((entry: { resource: { id: string } }) => entry.resource.id)).toEqual([
    'getMe',
    'listAuditLogs',
    'listAuditLogs',
  ]);
  expect(denials[0].actor).toMatchObject({ type: 'service_account', id: made.body.data.id });
  expect(await denialsIn(foreign)).toEqual([]);
  expect(app.logged()).not.toContain(token);
});

test('a stranger is logged, but can write only a few rows, and many strangers together not many more', {
  tags: 'long',
  timeout: 60_000,
}, async () => {
  const organization = await foundOrganization(app);
  const knock = (token: string) =>
    app.request('GET', '/api/v1/organizations/current', { token, organizationId: organization.id });
  const stranger = await signUp(app, 'stranger@example.com');
  for (let count = 0; count < 40; count++) expect((await knock(stranger.token)).status).toBe(403);
  const denials = await denialsIn(organization);
  expect(denials.length).toBe(5);
  expect(denials[0]).toMatchObject({ actor: { id: stranger.id }, details: { code: 'FORBIDDEN' } });
  const crowd = await Promise.all(Array.from({ length: 30 }, (_, index) => signUp(app, `crowd-${index}@example.com`)));
  for (const { token } of crowd) for (let count = 0; count < 3; count++) await knock(token);
  expect((await denialsIn(organization)).length).toBe(30);
  app.clock.advance(61_000);
  await knock(stranger.token);
  expect((await denialsIn(organization)).length).toBe(31);
});

test('nobody without a valid credential writes into any log', async () => {
  const organization = await foundOrganization(app);
  for (const token of [undefined, 'nonsense', 'fb_sa_nonsense', 'a.b.c'])
    await app.request('GET', '/api/v1/audit-logs', { organizationId: organization.id, ...(token ? { token } : {}) });
  expect(await denialsIn(organization)).toEqual([]);
});

test('a refusal by the handler itself is logged as well', async () => {
  const organization = await foundOrganization(app);
  const admin = await addMember(app, organization.id, 'admin');
  const answer = await app.request('PUT', `/api/v1/organizations/current/members/${admin.id}`, {
    token: admin.token,
    organizationId: organization.id,
    body: { role: 'owner' },
  });
  expect(answer.status).toBe(403);
  expect(await denialsIn(organization)).toMatchObject([{ actor: { id: admin.id }, resource: { id: 'updateMember' } }]);
});
