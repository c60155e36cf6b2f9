import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hourMs } from '../../../platform/durations.ts';
import { foundOrganization, renew, signUp, type TestPerson } from '../../../testing/people.ts';
import { startTestApp, type TestApp } from '../../../testing/test-app.ts';

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

test('an address gets one mail an hour, whether the invitation is new, made again or sent again', async () => {
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

test('an organization sends fifty invitations a day, also when many are asked for at once', async () => {
  const answers = await Promise.all(Array.from({ length: 56 }, (_, index) => invite(`guest-${index}@example.com`)));
  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  expect([count(201), count(429)]).toEqual([50, 6]);
  await passHours(24.1);
  expect((await invite('guest-99@example.com')).status).toBe(201);
});
