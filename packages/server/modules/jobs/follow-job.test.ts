// @module-tag long
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { foundOrganization, signUp, type TestPerson } from '../../testing/people.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { followJob } from './follow-job.ts';

let app: TestApp;
let owner: TestPerson;
let organizationId: string;
beforeAll(async () => {
  app = await startTestApp();
  owner = await signUp(app, 'owner@example.com');
  organizationId = await foundOrganization(app, owner);
});
afterAll(() => app.close());

test('a follower gets a change when it happens, and reads nothing while nothing changes', async () => {
  const { changes, database } = app.platform;
  const gone = new AbortController();
  let reads = 0;
  const read = async () => {
    reads += 1;
    const { rows } = await database.tenant(organizationId, ({ client }) =>
      client.query('select name from organizations'),
    );
    return { data: rows[0], isOver: rows[0].name === 'over' };
  };
  const stream = followJob({ changes, organizationId, id: organizationId, read, signal: gone.signal });
  const told = stream[Symbol.asyncIterator]();
  await told.next();
  const next = told.next();
  await sleep(1500);
  expect(reads).toBe(1);
  await rename('half way');
  expect((await next).value).toContain('half way');
  await rename('over');
  expect((await told.next()).value).toContain('over');
  expect((await told.next()).done).toBe(true);
  expect(reads).toBe(3);
});

test('a follower that has left gets nothing more, and one of another organization never does', async () => {
  const { changes } = app.platform;
  const heard: string[] = [];
  const other = await foundOrganization(app, owner);
  const stop = await changes.follow(organizationId, ({ id }) => heard.push(id));
  await changes.follow(other, ({ id }) => heard.push(`other ${id}`));
  await rename('one');
  await expect.poll(() => heard).toEqual([organizationId]);
  stop();
  await rename('two');
  await app.platform.database.notices.ready();
  expect(heard).toEqual([organizationId]);
});

async function rename(name: string): Promise<void> {
  const answer = await app.request('PUT', '/api/v1/organizations/current', {
    token: owner.token,
    organizationId,
    body: { name },
  });
  expect(answer.status, answer.text).toBe(200);
}
