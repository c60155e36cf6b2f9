// @module-tag long
import { type Role, roleAtLeast } from '@holdfast/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { and, asc, eq } from '../../platform/database/orm.ts';
import type { TestPerson } from '../../testing/people.ts';
import { openSession, type TestTokens } from '../../testing/sessions.ts';
import { addMember, foundOrganization, type TestOrganization } from '../../testing/team.ts';
import { startTestApp, type TestApp, type TestResponse } from '../../testing/test-app.ts';
import { chainStart, hashRow } from '../audit/index.ts';
import { auditChains, auditLogs } from '../audit/tables.ts';
import { memberships } from './tables.ts';

const members = '/api/v1/organizations/current/members';
const callsAtOnce = 500;
/** Mostly higher roles, so that enough callers keep the right to change something. */
const granted: Role[] = ['admin', 'admin', 'admin', 'member', 'viewer'];

interface Colleague extends TestPerson {
  tokens: TestTokens;
}

let app: TestApp;
let organization: TestOrganization;
let team: Colleague[];
const initialRoles = new Map<string, Role>();
beforeAll(async () => {
  app = await startTestApp({ DATABASE_POOL_SIZE: '16' });
  organization = await foundOrganization(app);
  const joined: TestPerson[] = [organization.owner];
  initialRoles.set(organization.owner.id, 'owner');
  for (let index = 0; index < 39; index++) {
    const role = index % 3 === 0 ? 'viewer' : 'admin';
    const person = await addMember(app, organization.id, role);
    joined.push(person);
    initialRoles.set(person.id, role);
  }
  team = await Promise.all(joined.map(async (person) => ({ ...person, tokens: await openSession(app, person.id) })));
});
afterAll(() => app.close());

/** A small seeded generator, so that a failing run can be repeated. */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

interface Outcome {
  requestId: string;
  kind: 'role' | 'removal' | 'refresh';
  answer: TestResponse;
  target: Colleague;
  /** What the removed person got on the call right after the removal. */
  afterwards?: TestResponse;
}

const as = (person: TestPerson) => ({ token: person.token, organizationId: organization.id });
const owners = () =>
  app.platform.database.tenant(organization.id, ({ orm }) =>
    orm
      .select()
      .from(memberships)
      .where(and(eq(memberships.organizationId, organization.id), eq(memberships.role, 'owner'))),
  );

async function act(pick: (below: number) => number, requestId: string): Promise<Outcome> {
  const actor = team[pick(team.length)] as Colleague;
  const target = team[pick(team.length)] as Colleague;
  const choice = pick(20);
  const headers = { 'x-request-id': requestId };
  if (choice < 6) {
    const { refreshToken } = target.tokens;
    const answer = await app.request('POST', '/api/v1/auth/refresh', { body: { refreshToken }, headers });
    return { requestId, kind: 'refresh', answer, target };
  }
  if (choice < 7) {
    const answer = await app.request('DELETE', `${members}/${target.id}`, { ...as(actor), headers });
    if (answer.status !== 200) return { requestId, kind: 'removal', answer, target };
    const afterwards = await app.request('GET', members, as(target));
    return { requestId, kind: 'removal', answer, target, afterwards };
  }
  const role = choice < 12 ? 'owner' : granted[pick(granted.length)];
  const answer = await app.request('PUT', `${members}/${target.id}`, { ...as(actor), body: { role }, headers });
  return { requestId, kind: 'role', answer, target };
}

test(`${callsAtOnce} concurrent refreshes, role changes and removals leave one owner, no ghost, and every audit row`, async () => {
  const pick = randomly(20_260_301);
  let running = true;
  const ownerCounts = new Set<number>();
  const watcher = (async () => {
    while (running) ownerCounts.add((await owners()).length);
  })();
  const outcomes = await Promise.all(Array.from({ length: callsAtOnce }, (_, index) => act(pick, `call-${index}`)));
  running = false;
  await watcher;

  expect([...ownerCounts]).toEqual([1]);
  expect(outcomes.filter(({ answer }) => answer.status >= 500).map(({ answer }) => answer.text)).toEqual([]);
  const refreshed = outcomes.filter(({ kind }) => kind === 'refresh');
  expect(refreshed.length).toBeGreaterThan(100);
  expect(refreshed.map(({ answer }) => answer.status)).toEqual(refreshed.map(() => 200));
  for (const person of team) {
    const successors = refreshed
      .filter(({ target }) => target.id === person.id)
      .map(({ answer }) => answer.body.data.refreshToken);
    expect(new Set(successors).size).toBeLessThanOrEqual(1);
  }

  const removals = outcomes.filter(({ kind, answer }) => kind === 'removal' && answer.status === 200);
  expect(removals.length).toBeGreaterThan(0);
  expect(removals.map(({ afterwards }) => afterwards?.body.error.code)).toEqual(removals.map(() => 'FORBIDDEN'));
  const left = await app.platform.database.tenant(organization.id, ({ orm }) => orm.select().from(memberships));
  expect(left.length + removals.length).toBe(team.length);

  const rows = await auditRows();
  const changing = rows.filter((row) => row.action.startsWith('member.'));
  for (const { requestId, kind, answer, target } of outcomes) {
    const own = changing.filter((row) => row.requestId === requestId);
    if (answer.status !== 200 || kind === 'refresh') expect(own).toEqual([]);
    else if (kind === 'removal') expect(own.map((row) => row.resourceId)).toEqual([target.id]);
  }
  expect(changing.filter((row) => row.action === 'member.role_changed').length).toBeGreaterThan(20);
  expect(retold(changing)).toEqual(Object.fromEntries(left.map((member) => [member.userId, member.role])));
  await expectWholeChain(rows);
});

/**
 * Rebuilds the team from the audit log. A lost, doubled or misplaced row would give another team than the real one. It
 * also checks that nobody changed anything after losing the right to.
 */
function retold(rows: Awaited<ReturnType<typeof auditRows>>): Record<string, Role> {
  const told = new Map(initialRoles);
  for (const row of rows) {
    const userId = row.resourceId as string;
    const actorRole = told.get(row.actorId as string);
    expect(actorRole, `${row.actorId} was out when ${row.action} happened`).toBeDefined();
    if (row.action !== 'member.left') expect(roleAtLeast(actorRole as Role, 'admin')).toBe(true);
    if (row.action !== 'member.role_changed') told.delete(userId);
    else {
      expect(told.get(userId)).toBe(row.details.previousRole);
      told.set(userId, row.details.role as Role);
    }
  }
  return Object.fromEntries(told);
}

const auditRows = () =>
  app.platform.database.tenant(organization.id, ({ orm }) =>
    orm.select().from(auditLogs).orderBy(asc(auditLogs.position)),
  );

async function expectWholeChain(rows: Awaited<ReturnType<typeof auditRows>>): Promise<void> {
  let previousHash = chainStart;
  for (const [index, row] of rows.entries()) {
    expect([row.position, row.previousHash, row.hash]).toEqual([index + 1, previousHash, hashRow(row)]);
    previousHash = row.hash;
  }
  const [end] = await app.platform.database.tenant(organization.id, ({ orm }) => orm.select().from(auditChains));
  expect([end?.position, end?.hash]).toEqual([rows.length, previousHash]);
}
