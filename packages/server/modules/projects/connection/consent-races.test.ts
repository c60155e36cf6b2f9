import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Consenting, startConsenting } from '../../../testing/consenting.ts';
import { asOwner } from '../../../testing/people.ts';

const owner = 'ada@example.com';
const member = 'bob@example.com';
const stranger = 'eve@example.com';

let consenting: Consenting;
let ada: { token: string; organizationId: string };
let projectId: string;

beforeAll(async () => {
  consenting = await startConsenting([owner, member, stranger], [stranger]);
});
afterAll(() => consenting.close());

beforeEach(async () => {
  const token = await consenting.signIn(owner);
  const founded = await request('POST', '/organizations', { token, body: { name: 'Ada & Co' } });
  ada = { token, organizationId: founded.body.data.id };
  projectId = await connect(ada, 'Shop');
});
afterEach(() => consenting.firestore.control.clearFaults());

const request = (method: string, path: string, options: object) =>
  consenting.app.request(method, `/api/v1${path}`, options);

const oauth = (name: string) => ({ name, sourceProjectId: 'shop', connection: { type: 'oauth' } });

async function connect(as: { token: string; organizationId: string }, name: string): Promise<string> {
  const answer = await request('POST', '/projects', { ...as, body: oauth(name) });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.data.id;
}

/** A person who has signed in and is a member of the organization. */
async function colleague(email: string) {
  const token = await consenting.signIn(email);
  const { id } = (await request('GET', '/auth/me', { token })).body.data;
  const { organizationId } = ada;
  await asOwner(consenting.app.databaseUrl, (client) =>
    client.query(
      `insert into memberships (organization_id, user_id, role, joined_at, last_active_at, updated_at) values ($1, $2, 'member', now(), now(), now())`,
      [organizationId, id],
    ),
  );
  return { id: id as string, as: { token, organizationId } };
}

const connectionOf = async (id: string) => (await request('GET', `/projects/${id}`, ada)).body.data.connection;

/** The database answers nobody until `release` is called. */
function holdDatabase() {
  const { control } = consenting.firestore;
  const { promise, resolve } = Promise.withResolvers<void>();
  control.addFault({ until: promise });
  return {
    untilAsked: () => expect.poll(() => control.faultHits()).not.toEqual([0]),
    release: () => {
      control.clearFaults();
      resolve();
    },
  };
}

const remove = async (userId: string) => {
  const answer = await request('DELETE', `/organizations/current/members/${userId}`, ada);
  expect(answer.status, answer.text).toBe(200);
};

const consentsKept = async () => {
  const { rows } = await asOwner(consenting.app.databaseUrl, (client) =>
    client.query('select connection_user_id, reconnect_user_id from projects where organization_id = $1', [
      ada.organizationId,
    ]),
  );
  return rows.flatMap((row) => [row.connection_user_id, row.reconnect_user_id]);
};

test('a consent that cannot read does not replace one that works', async () => {
  const eve = await colleague(stranger);
  const sent = await request('POST', `/projects/${projectId}/reconnect`, eve.as);
  expect(sent.body.data.connection, sent.text).toMatchObject({ status: 'connected', email: owner });
  await consenting.signIn(stranger);
  await expect.poll(async () => (await consentsKept()).includes(eve.id)).toBe(false);
  expect(await connectionOf(projectId)).toMatchObject({ status: 'connected', email: owner, error: null });
});

test('a person who is removed while their consent is checked leaves none behind, and their colleagues keep theirs', async () => {
  const bob = await colleague(member);
  const his = await connect(bob.as, 'His');
  const database = holdDatabase();
  await consenting.signIn(member);
  await database.untilAsked();
  await remove(bob.id);
  database.release();
  const lines = () => consenting.app.logged().split('\n');
  const isOver = () => lines().some((line) => line.includes('a consent was not taken') && line.includes(bob.id));
  await expect.poll(isOver).toBe(true);
  expect(await consentsKept()).not.toContain(bob.id);
  expect(await connectionOf(his)).toMatchObject({ status: 'unauthorized' });
  expect(await connectionOf(projectId)).toMatchObject({ status: 'connected', email: owner });
});

test('a person who is removed while a project is connected or reconnected with their consent does neither', async () => {
  for (const [path, body] of [
    ['/projects', oauth('Late')],
    [`/projects/${projectId}/reconnect`, undefined],
  ] as const) {
    const bob = await colleague(member);
    const database = holdDatabase();
    const asked = request('POST', path, { ...bob.as, ...(body && { body }) });
    await database.untilAsked();
    await remove(bob.id);
    database.release();
    const answer = await asked;
    expect([answer.status, answer.body.error?.code], answer.text).toEqual([403, 'FORBIDDEN']);
    expect(await consentsKept()).not.toContain(bob.id);
  }
});

test('a project that is removed while a consent is checked does not stop the other projects of that person', async () => {
  const second = await connect(ada, 'Second');
  consenting.google.control.revokeConsent(owner);
  for (const id of [projectId, second]) await request('POST', `/projects/${id}/reconnect`, ada);
  expect(await connectionOf(second)).toMatchObject({ status: 'unauthorized' });
  const database = holdDatabase();
  await consenting.signIn(owner);
  await database.untilAsked();
  expect((await request('DELETE', `/projects/${projectId}`, ada)).status).toBe(200);
  database.release();
  await expect.poll(async () => (await connectionOf(second)).status).toBe('connected');
});
