import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestPerson } from '../../../testing/people.ts';
import { asOwner, signUp } from '../../../testing/people.ts';
import { addMember, foundOrganization, type TestOrganization } from '../../../testing/team.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

const members = '/api/v1/organizations/current/members';

let app: TestApp;
let organization: TestOrganization;
let admin: TestPerson;
let member: TestPerson;
let viewer: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function staff(): Promise<void> {
  organization = await foundOrganization(app);
  admin = await addMember(app, organization.id, 'admin');
  member = await addMember(app, organization.id, 'member');
  viewer = await addMember(app, organization.id, 'viewer');
}

const as = (person: TestPerson) => ({ token: person.token, organizationId: organization.id });
const setRole = (by: TestPerson, of: TestPerson, role: string) =>
  app.request('PUT', `${members}/${of.id}`, { ...as(by), body: { role } });
const remove = (by: TestPerson, who: TestPerson) => app.request('DELETE', `${members}/${who.id}`, as(by));
const rolesNow = async () => {
  const { body } = await app.request('GET', members, as(organization.owner));
  return Object.fromEntries(body.data.map((item: { userId: string; role: string }) => [item.userId, item.role]));
};

test('lists members in the order they joined, page by page', async () => {
  await staff();
  const ids = [organization.owner, admin, member, viewer].map((person) => person.id);
  const first = await app.request('GET', `${members}?limit=3`, as(viewer));
  const second = await app.request('GET', `${members}?limit=3&cursor=${first.body.pagination.nextCursor}`, as(viewer));
  const listed = [...first.body.data, ...second.body.data];
  expect(listed.map((item) => item.userId)).toEqual(ids);
  expect(listed[0]).toMatchObject({ role: 'owner', status: 'active', email: organization.owner.email });
  expect(second.body.pagination).toEqual({ nextCursor: null, hasMore: false });
});

test('nobody grants a role above their own or changes a member with one', async () => {
  await staff();
  const grant = await setRole(admin, member, 'owner');
  expect([grant.status, grant.body.error]).toMatchObject([
    403,
    { code: 'PERMISSION_DENIED', details: { requiredRole: 'owner', currentRole: 'admin' } },
  ]);
  const touch = await setRole(admin, organization.owner, 'member');
  expect([touch.status, touch.body.error.code]).toEqual([403, 'PERMISSION_DENIED']);
  const byMember = await setRole(member, viewer, 'member');
  expect(byMember.body.error).toMatchObject({
    code: 'PERMISSION_DENIED',
    details: { requiredRole: 'admin', currentRole: 'member' },
  });
  expect(await rolesNow()).toMatchObject({ [member.id]: 'member', [viewer.id]: 'viewer' });
});

test('the role is checked before the member is looked up', async () => {
  await staff();
  const unknown = { id: 'usr_NOBODY', email: '', token: '' };
  expect((await setRole(admin, unknown, 'owner')).body.error.code).toBe('PERMISSION_DENIED');
  expect((await setRole(admin, unknown, 'viewer')).body.error.code).toBe('MEMBER_NOT_FOUND');
  expect((await remove(viewer, unknown)).body.error.code).toBe('PERMISSION_DENIED');
  expect((await remove(admin, unknown)).body.error.code).toBe('MEMBER_NOT_FOUND');
});

test('making another member owner transfers ownership in one step', async () => {
  await staff();
  const answer = await setRole(organization.owner, viewer, 'owner');
  expect(answer.body.data).toMatchObject({ userId: viewer.id, role: 'owner' });
  expect(await rolesNow()).toMatchObject({ [viewer.id]: 'owner', [organization.owner.id]: 'admin' });
  const shown = await app.request('GET', '/api/v1/organizations/current', as(viewer));
  expect(shown.body.data.owner.id).toBe(viewer.id);
  const changes = await asOwner(app.databaseUrl, (client) =>
    client.query(
      `select payload->'data'->'member' as member from outbox_events where organization_id = $1 and type = 'member.role_changed' order by position`,
      [organization.id],
    ),
  );
  expect(changes.rows.map((row) => [row.member.id, row.member.previousRole, row.member.role])).toEqual([
    [organization.owner.id, 'owner', 'admin'],
    [viewer.id, 'viewer', 'owner'],
  ]);
  const delayed = await setRole(organization.owner, member, 'owner');
  expect(delayed.body.error.details).toEqual({ requiredRole: 'owner', currentRole: 'admin' });
});

test('the owner can neither be removed nor give up the role', async () => {
  await staff();
  for (const answer of [
    await remove(admin, organization.owner),
    await remove(organization.owner, organization.owner),
    await setRole(organization.owner, organization.owner, 'admin'),
  ]) {
    expect([answer.status, answer.body.error.code]).toEqual([409, 'CANNOT_REMOVE_OWNER']);
  }
  expect((await remove(viewer, organization.owner)).body.error.code).toBe('PERMISSION_DENIED');
});

test('everyone but the owner may leave, and a removed member is refused on the very next call', async () => {
  await staff();
  expect((await remove(viewer, viewer)).status).toBe(200);
  expect((await remove(admin, member)).status).toBe(200);
  for (const gone of [viewer, member]) {
    const answer = await app.request('GET', members, as(gone));
    expect([answer.status, answer.body.error.code]).toEqual([403, 'FORBIDDEN']);
  }
  const audited = await asOwner(app.databaseUrl, (client) =>
    client.query('select action from audit_logs where organization_id = $1 order by position', [organization.id]),
  );
  expect(audited.rows.map((row) => row.action)).toEqual(expect.arrayContaining(['member.left', 'member.removed']));
});

test('a changed role takes effect on the very next call', async () => {
  await staff();
  await setRole(organization.owner, admin, 'viewer');
  const answer = await app.request('GET', '/api/v1/organizations/current/invites', as(admin));
  expect(answer.body.error.details).toEqual({ requiredRole: 'admin', currentRole: 'viewer' });
});

test('lastActiveAt changes at most once a minute, and soon after the call', async () => {
  await staff();
  const outsider = await signUp(app, 'nobody@example.com');
  await app.request('GET', members, { token: outsider.token, organizationId: organization.id });
  const activeAt = async () =>
    (await app.request('GET', members, as(viewer))).body.data.find(
      (item: { userId: string }) => item.userId === viewer.id,
    ).lastActiveAt as string;
  const first = await activeAt();
  app.clock.advance(59_000);
  await activeAt();
  expect(await activeAt()).toBe(first);
  app.clock.advance(2_000);
  await activeAt();
  await expect.poll(activeAt).not.toBe(first);
});
