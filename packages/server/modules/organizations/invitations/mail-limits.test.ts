// @module-tag long
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hourMs, minuteMs, secondMs } from '../../../platform/durations.ts';
import { asOwner, foundOrganization, renew, signUp, type TestPerson } from '../../../testing/people.ts';
import { startTestApp, type TestApp, type TestResponse } from '../../../testing/test-app.ts';

let app: TestApp;
let owner: TestPerson;
let organizationId: string;
beforeAll(async () => {
  app = await startTestApp({ ACCESS_TOKEN_TTL: '86400' });
  owner = await signUp(app, 'owner@example.com');
});
beforeEach(async () => {
  organizationId = await foundOrganization(app, owner);
});
afterAll(() => app.close());

const path = '/api/v1/organizations/current/invites';
const as = () => ({ token: owner.token, organizationId });
const invite = (email: string) => app.request('POST', path, { ...as(), body: { email, role: 'viewer' } });

async function passHours(hours: number): Promise<void> {
  app.clock.advance(hours * hourMs);
  owner = await renew(app, owner);
}

test('an address gets one mail an hour, whether the invitation is new, repeated or resent', async () => {
  const first = await invite('guest@example.com');
  expect(first.status).toBe(201);
  const resend = () => app.request('POST', `${path}/${first.body.data.id}/resend`, as());
  expect((await resend()).body.error.code).toBe('RATE_LIMITED');
  await app.request('DELETE', `${path}/${first.body.data.id}`, as());
  expect((await invite('GUEST@example.com')).body.error.code).toBe('RATE_LIMITED');
  expect((await invite('another@example.com')).status).toBe(201);
  await passHours(1.1);
  expect((await invite('guest@example.com')).status).toBe(201);
});

test('an organization sends fifty invitations a day, also with concurrent requests', async () => {
  const answers = await Promise.all(Array.from({ length: 56 }, (_, index) => invite(`guest-${index}@example.com`)));
  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  expect([count(201), count(429)]).toEqual([50, 6]);
  await passHours(24.1);
  expect((await invite('guest-99@example.com')).status).toBe(201);
});

test('a person sends a hundred invitations a day from all organizations together, deleted ones included', async () => {
  const founder = await signUp(app, 'founder@example.com');
  const found = async () => {
    const id = await foundOrganization(app, founder);
    const asFounder = { token: founder.token, organizationId: id };
    const inviteFrom = (email: string) => app.request('POST', path, { ...asFounder, body: { email, role: 'viewer' } });
    const remove = () =>
      app.request('POST', '/api/v1/organizations/current/delete', {
        ...asFounder,
        body: { confirmName: `Organization ${id}`, force: true },
      });
    return { inviteFrom, remove };
  };
  const [first, second, third] = [await found(), await found(), await found()];
  for (let index = 0; index < 49; index += 1)
    expect((await first.inviteFrom(`guest-${index}@example.com`)).status).toBe(201);
  expect((await first.remove()).status).toBe(200);
  const answers = await Promise.all(
    Array.from({ length: 52 }, (_, index) => (index % 2 ? second : third).inviteFrom(`other-${index}@example.com`)),
  );
  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  expect([count(201), count(429)]).toEqual([51, 1]);
  const { policy } = told(await third.inviteFrom('one-too-many@example.com'));
  expect(policy).toBe('"invitations-by-person";q=100;w=86400');
  await passHours(24.1);
  await app.tasks.runNow('expired sessions and codes');
  const kept = await asOwner(app.databaseUrl, (client) => client.query('select from person_mails'));
  expect(kept.rowCount).toBe(0);
});

/** The waiting time and the limit that a refusal names. */
function told(answer: TestResponse): { seconds: number; policy: string | null } {
  expect([answer.status, answer.body.error.code], answer.text).toEqual([429, 'RATE_LIMITED']);
  const seconds = Number(answer.headers.get('retry-after'));
  const policy = answer.headers.get('ratelimit-policy');
  expect(answer.headers.get('ratelimit')).toBe(`${policy?.split(';')[0]};r=0;t=${seconds}`);
  return { seconds, policy };
}

/** The clock runs while the calls are made. */
function expectAbout(seconds: number, expected: number): void {
  expect(seconds).toBeLessThanOrEqual(expected);
  expect(seconds).toBeGreaterThan(expected - 30);
}

test('a refusal says when the next mail can go, and names the limit', async () => {
  const invited = await invite('guest@example.com');
  const resend = () => app.request('POST', `${path}/${invited.body.data.id}/resend`, as());
  app.clock.advance(10 * minuteMs);
  const { seconds, policy } = told(await resend());
  expect(policy).toBe('"invitations-to-address";q=1;w=3600');
  expectAbout(seconds, 50 * 60);
  app.clock.advance((seconds - 30) * secondMs);
  expectAbout(told(await resend()).seconds, 30);
  app.clock.advance(30 * secondMs);
  expect((await resend()).status).toBe(200);
});

test('when the limit of the day is reached too, the refusal names the later time, and a mail goes then', async () => {
  expect((await invite('guest-0@example.com')).status).toBe(201);
  await passHours(2);
  for (let index = 1; index < 50; index += 1) expect((await invite(`guest-${index}@example.com`)).status).toBe(201);
  const list = (await app.request('GET', `${path}?limit=1`, as())).body.data;
  const refused = [
    told(await invite('another@example.com')),
    told(await app.request('POST', `${path}/${list[0].id}/resend`, as())),
  ];
  for (const { seconds, policy } of refused) {
    expect(policy).toBe('"invitations";q=50;w=86400');
    expectAbout(seconds, 22 * 3600);
  }
  await passHours(refused[0]!.seconds / 3600);
  expect((await invite('another@example.com')).status).toBe(201);
  expectAbout(told(await invite('one-too-many@example.com')).seconds, 2 * 3600);
});
