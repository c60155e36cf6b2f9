import { afterAll, beforeAll, expect, test } from 'vitest';
import { organizations } from '../../modules/organizations/tables.ts';
import { asOwner } from '../../testing/people.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { getTableColumns, sql } from './orm.ts';
import { functionCall, selection } from './statement.ts';

const everything = selection(getTableColumns(organizations), (select) => select.from(organizations));
const settings = functionCall<[], { organization: string | null; role: string }>(
  `select nullif(current_setting('holdfast.organization_id', true), '') as organization, current_user as role`,
);
const failing = selection(getTableColumns(organizations), (select) =>
  select.from(organizations).where(sql`1 / (length(${organizations.id}) - length(${organizations.id})) = 1`),
);

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
  const now = app.platform.clock.now();
  for (const id of ['org_A', 'org_B']) {
    await app.platform.database.tenant(id, ({ orm }) =>
      orm
        .insert(organizations)
        .values({ id, name: id, slug: id.toLowerCase(), plan: 'enterprise', createdAt: now, updatedAt: now }),
    );
  }
});
afterAll(() => app.close());

test('a read that forgets its where returns only its own organization, among hundreds that share the lanes', async () => {
  const { database } = app.platform;
  const asked = Array.from({ length: 400 }, (_, index) => (index % 3 === 0 ? 'org_A' : 'org_B'));
  const answers = await Promise.all(asked.map((id) => database.read(id, everything, {})));
  expect(answers.map((rows) => rows.map((row) => row.id))).toEqual(asked.map((id) => [id]));
});

test('rows are the same as from the query builder', async () => {
  const { database } = app.platform;
  const built = await database.tenant('org_A', ({ orm }) => orm.select().from(organizations));
  expect(await database.read('org_A', everything, {})).toEqual(built);
});

test('role and organization end with their read', async () => {
  const { database } = app.platform;
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      if (index % 2 === 0) return (await database.read('org_A', everything, {})).length;
      return (await database.call(settings, []))[0];
    }),
  );
  for (const answer of answers.filter((one) => typeof one === 'object')) {
    expect(answer).toMatchObject({ organization: null, role: expect.stringMatching(/^holdfast_login_/) });
  }
});

test('without an organization a read reaches no table', async () => {
  const { database } = app.platform;
  await expect(database.call(everything, {})).rejects.toThrow(/permission denied/);
  expect(await database.read('org_A', everything, {})).toHaveLength(1);
});

test('an invalid organization id is refused before it reaches the database', () => {
  expect(() => app.platform.database.read(`org_A', true), set_config('role`, everything, {})).toThrow(
    /no such organization/,
  );
});

test('lists are sent unchanged, with any text', async () => {
  const texts = ['plain', 'with "quotes"', 'back\\slash', '{braces}', 'comma,', '', 'NULL', 'ü'];
  const echo = functionCall<[string[]], { text: string }>('select unnest($1::text[]) as text');
  const rows = await app.platform.database.call(echo, [texts]);
  expect(rows.map((row) => row.text)).toEqual(texts);
});

test('a value that cannot be sent is refused before anything is sent', async () => {
  const { database } = app.platform;
  const echo = functionCall<[unknown], { text: string }>('select $1::text as text');
  const reads = Array.from({ length: 30 }, (_, index) => database.call(echo, [index % 3 === 0 ? {} : `text ${index}`]));
  for (const [index, answer] of (await Promise.allSettled(reads)).entries()) {
    if (index % 3 === 0) expect(answer.status).toBe('rejected');
    else expect(answer).toMatchObject({ value: [{ text: `text ${index}` }] });
  }
});

test('a failing read does not affect others', async () => {
  const { database } = app.platform;
  const answers = await Promise.allSettled(
    Array.from({ length: 90 }, (_, index) => database.read('org_A', index % 3 === 1 ? failing : everything, {})),
  );
  for (const [index, answer] of answers.entries()) {
    if (index % 3 === 1) expect(String((answer as PromiseRejectedResult).reason)).toMatch(/division by zero/);
    else expect((answer as PromiseFulfilledResult<unknown[]>).value).toHaveLength(1);
  }
});

test('a lane whose connection is cut is replaced', async () => {
  const { database } = app.platform;
  await database.read('org_A', everything, {});
  await asOwner(app.databaseUrl, (client) =>
    client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1',
      ['holdfast'],
    ),
  );
  // Until the cut is noticed, a read may still be sent into the lost connection.
  const read = () => database.read('org_A', everything, {}).catch(() => []);
  await expect.poll(async () => (await read()).length).toBe(1);
});
