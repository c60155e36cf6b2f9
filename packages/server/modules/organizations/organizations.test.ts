import { standardData } from '@holdfast/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asOwner, signUp } from '../../testing/people.ts';
import { addMember, foundOrganization } from '../../testing/team.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';

const api = '/api/v1/organizations';
const current = `${api}/current`;

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface EventRow {
  type: string;
  payload: { data: Record<string, unknown> };
}

const eventsOf = (organizationId: string) =>
  asOwner(app.databaseUrl, async (client) => {
    const { rows } = await client.query<EventRow>(
      'select type, payload from outbox_events where organization_id = $1 order by position',
      [organizationId],
    );
    return rows;
  });

const auditOf = (organizationId: string) =>
  asOwner(app.databaseUrl, async (client) => {
    const { rows } = await client.query<{ action: string; actor_id: string; details: Record<string, unknown> }>(
      'select action, actor_id, details from audit_logs where organization_id = $1 order by position',
      [organizationId],
    );
    return rows;
  });

describe('creating', () => {
  test('the caller becomes the owner, and the organization is listed with role and counts', async () => {
    const owner = await signUp(app, 'ada@example.com');
    const created = await app.request('POST', api, { token: owner.token, body: { name: 'Zürich Größe & Co.' } });
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(current);
    expect(created.body.data).toMatchObject({
      name: 'Zürich Größe & Co.',
      slug: 'zurich-grosse-co',
      ownerId: owner.id,
    });
    const listed = await app.request('GET', api, { token: owner.token });
    expect(listed.body.data).toEqual([
      expect.objectContaining({ id: created.body.data.id, role: 'owner', memberCount: 1, projectCount: 0 }),
    ]);
    const [audited] = await auditOf(created.body.data.id);
    expect(audited).toMatchObject({ action: 'organization.created', actor_id: owner.id });
  });

  test('organizations of the same name created at the same moment get different slugs', async () => {
    const owner = await signUp(app, 'crowd@example.com');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app.request('POST', api, { token: owner.token, body: { name: 'Acme, Inc.' } })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(201));
    const slugs = answers.map((answer) => answer.body.data.slug);
    expect(new Set(slugs).size).toBe(20);
    expect(slugs.every((slug) => /^acme-inc(-[a-z0-9]+)?$/.test(slug))).toBe(true);
  });

  test('a given slug that is taken is refused, a name without letters still gets one', async () => {
    const owner = await signUp(app, 'slug@example.com');
    const body = { name: 'One', slug: 'the-slug' };
    expect((await app.request('POST', api, { token: owner.token, body })).status).toBe(201);
    const second = await app.request('POST', api, { token: owner.token, body });
    expect([second.status, second.body.error.code]).toEqual([409, 'SLUG_TAKEN']);
    const signs = await app.request('POST', api, { token: owner.token, body: { name: '日本' } });
    expect(signs.body.data.slug).toMatch(/^organization/);
  });

  test("pages through the caller's organizations without skipping or repeating one", async () => {
    const owner = await signUp(app, 'pages@example.com');
    const ids: string[] = [];
    for (let i = 0; i < 5; i++)
      ids.unshift((await app.request('POST', api, { token: owner.token, body: { name: `P ${i}` } })).body.data.id);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await app.request('GET', `${api}?limit=2${cursor && `&cursor=${cursor}`}`, { token: owner.token });
      seen.push(...page.body.data.map((item: { id: string }) => item.id));
      cursor = page.body.pagination.nextCursor;
    }
    expect(seen).toEqual(ids);
  });
});

describe('settings and subscription', () => {
  test('shows owner, settings, statistics and subscription', async () => {
    const { id, owner } = await foundOrganization(app, 'Shown');
    await addMember(app, id, 'viewer');
    const shown = await app.request('GET', current, { token: owner.token, organizationId: id });
    expect(shown.body.data).toMatchObject({
      id,
      owner: { id: owner.id, email: owner.email },
      settings: { timezone: 'UTC', defaultStorageId: null },
      statistics: { memberCount: 2, projectCount: 0, backupCount: 0, storageUsed: 0 },
      subscription: { plan: 'enterprise', status: 'active', billingCycle: 'monthly' },
    });
    const again = await app.request('GET', current, {
      token: owner.token,
      organizationId: id,
      headers: { 'if-none-match': shown.headers.get('etag') as string },
    });
    expect(again.status).toBe(304);
  });

  test('changes only what is given, honours If-Match, and emits nothing when nothing changes', async () => {
    const { id, owner } = await foundOrganization(app, 'Before');
    const call = { token: owner.token, organizationId: id };
    const etag = (await app.request('GET', current, call)).headers.get('etag') as string;
    const body = { settings: { timezone: 'Europe/Zurich' } };
    const changed = await app.request('PUT', current, { ...call, body, headers: { 'if-match': etag } });
    expect(changed.body.data).toMatchObject({ name: 'Before', settings: { timezone: 'Europe/Zurich' } });
    expect(changed.headers.get('etag')).not.toBe(etag);
    const stale = await app.request('PUT', current, { ...call, body: { name: 'X' }, headers: { 'if-match': etag } });
    expect([stale.status, stale.body.error.code]).toEqual([412, 'PRECONDITION_FAILED']);
    await app.request('PUT', current, { ...call, body });
    const types = (await eventsOf(id)).map((event) => event.type);
    expect(types).toEqual(['organization.created', 'member.joined', 'organization.updated']);
  });

  test('refuses an unknown destination and an invalid time zone', async () => {
    const { id, owner } = await foundOrganization(app);
    for (const [settings, field] of [
      [{ defaultStorageId: 'dst_none' }, 'settings.defaultStorageId'],
      [{ timezone: 'Mars/Olympus' }, 'settings.timezone'],
    ] as const) {
      const answer = await app.request('PUT', current, { token: owner.token, organizationId: id, body: { settings } });
      expect([answer.status, answer.body.error.details.field]).toEqual([400, field]);
    }
  });

  test('the owner changes the plan, with effect on the very next call', async () => {
    const { id, owner } = await foundOrganization(app);
    const call = { token: owner.token, organizationId: id };
    const changed = await app.request('PUT', `${current}/subscription`, { ...call, body: { plan: 'starter' } });
    expect(changed.body.data).toEqual({
      plan: 'starter',
      status: 'active',
      billingCycle: 'monthly',
      changedBy: 'owner',
      plans: [
        { plan: 'starter', auditLogDays: 30, ownEncryptionKey: false },
        { plan: 'professional', auditLogDays: 90, ownEncryptionKey: false },
        { plan: 'enterprise', auditLogDays: 365, ownEncryptionKey: true },
      ],
    });
    expect((await app.request('GET', current, call)).body.data.subscription).toEqual({
      plan: 'starter',
      status: 'active',
      billingCycle: 'monthly',
    });
    const refused = await app.request('POST', `${current}/encryption-key/rotate`, call);
    expect([refused.status, refused.body.error.details]).toEqual([
      403,
      { requiredPlan: 'enterprise', currentPlan: 'starter' },
    ]);
    // Withdrawing is allowed on this plan, but there is no such key here.
    const withdrawn = await app.request('DELETE', `${current}/encryption-key`, call);
    expect(withdrawn.body.error.code).toBe('INVALID_STATE');
    expect((await auditOf(id)).map((row) => row.action)).toContain('subscription.updated');
  });

  test('a withdrawn key can be supplied again on every plan, a new key only on a plan that allows it', {
    tags: 'long',
  }, async () => {
    const { id, owner } = await foundOrganization(app);
    const call = { token: owner.token, organizationId: id };
    const supply = (passphrase: string) =>
      app.request('PUT', `${current}/encryption-key`, { ...call, body: { passphrase } });
    expect((await supply('correct horse battery staple')).status).toBe(200);
    await app.request('PUT', `${current}/subscription`, { ...call, body: { plan: 'starter' } });
    expect((await app.request('DELETE', `${current}/encryption-key`, call)).status).toBe(200);
    const refused = await supply('quite another passphrase');
    expect([refused.status, refused.body.error.details]).toEqual([
      403,
      { requiredPlan: 'enterprise', currentPlan: 'starter' },
    ]);
    const again = await supply('correct horse battery staple');
    expect([again.status, again.body.data?.source], again.text).toEqual([200, 'customer']);
  });
});

describe('deleting', () => {
  test('the name must be confirmed', async () => {
    const { id, owner } = await foundOrganization(app, 'Careful');
    const answer = await app.request('POST', `${current}/delete`, {
      token: owner.token,
      organizationId: id,
      body: { confirmName: 'careful' },
    });
    expect([answer.status, answer.body.error.details.field]).toEqual([400, 'confirmName']);
  });

  test('a soft-deleted organization exists for nobody until its former owner recovers it', async () => {
    const { id, owner, name } = await foundOrganization(app, 'Softly');
    const admin = await addMember(app, id, 'admin');
    const call = { token: owner.token, organizationId: id };
    const { apiKey } = (await app.request('POST', `${current}/service-account`, { ...call, body: { name: 'ci' } })).body
      .data;
    const deleted = await app.request('POST', `${current}/delete`, { ...call, body: { confirmName: name } });
    expect(deleted.body.data).toMatchObject({ id, deleted: true, deletionType: 'soft' });
    const daysLeft = (Date.parse(deleted.body.data.recoveryDeadline) - Date.now()) / 86_400_000;
    expect(daysLeft).toBeCloseTo(30, 1);
    for (const token of [owner.token, admin.token, apiKey]) {
      const hidden = await app.request('GET', current, { token, organizationId: id });
      expect([hidden.status, hidden.body.error.code]).toEqual([404, 'ORGANIZATION_NOT_FOUND']);
    }
    expect((await app.request('GET', api, { token: owner.token })).body.data).toEqual([]);
    const listed = async (token: string) => (await app.request('GET', `${api}/deleted`, { token })).body.data;
    expect(await listed(owner.token)).toMatchObject([{ id, recoveryDeadline: deleted.body.data.recoveryDeadline }]);
    expect(await listed(admin.token)).toEqual([]);
    const byAdmin = await app.request('POST', `${api}/${id}/recover`, { token: admin.token });
    expect([byAdmin.status, byAdmin.body.error.code]).toEqual([404, 'ORGANIZATION_NOT_FOUND']);
    const recovered = await app.request('POST', `${api}/${id}/recover`, { token: owner.token });
    expect(recovered.body.data).toMatchObject({ id, ownerId: owner.id });
    expect(await listed(owner.token)).toEqual([]);
    expect((await app.request('GET', current, { token: apiKey })).status).toBe(200);
    expect((await auditOf(id)).map((row) => row.action)).toEqual(
      expect.arrayContaining(['organization.deleted', 'organization.recovered']),
    );
  });

  test('recovering an id that is not deleted, unknown or malformed answers not found', async () => {
    const { id, owner } = await foundOrganization(app);
    for (const given of [id, 'org_UNKNOWN', "x'; drop table organizations", '%00']) {
      const answer = await app.request('POST', `${api}/${encodeURIComponent(given)}/recover`, { token: owner.token });
      expect([answer.status, answer.body.error.code]).toEqual([404, 'ORGANIZATION_NOT_FOUND']);
    }
  });
});

test('every event of an organization matches the contract', async () => {
  const { id, owner } = await foundOrganization(app, 'Telling');
  const call = { token: owner.token, organizationId: id };
  const member = await addMember(app, id, 'member');
  await app.request('PUT', `${current}/members/${member.id}`, { ...call, body: { role: 'viewer' } });
  await app.request('DELETE', `${current}/members/${member.id}`, call);
  await app.request('PUT', current, { ...call, body: { name: 'Told' } });
  await app.request('POST', `${current}/invites`, { ...call, body: { email: 'new@example.com' } });
  await app.request('POST', `${current}/delete`, { ...call, body: { confirmName: 'Told' } });
  const events = await eventsOf(id);
  expect(events.map((event) => event.type)).toEqual([
    'organization.created',
    'member.joined',
    'member.role_changed',
    'member.left',
    'organization.updated',
    'invitation.created',
    'organization.deleted',
  ]);
  for (const { type, payload } of events) {
    const parsed = standardData[type as keyof typeof standardData].parse(payload.data);
    expect(parsed).toEqual(payload.data);
    expect(payload.data).toMatchObject({
      organization: { id },
      actor: { type: 'user', id: owner.id, email: owner.email },
    });
  }
});
